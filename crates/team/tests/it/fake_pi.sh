# An agent that keeps its sessions as pi does: a file for each session, with a line for every message. Each prompt is
# saved as a file too: session.number.prompt. The text `[FAIL]` in a prompt makes it fail after it has read the prompt, and `[COMPACT]` makes it
# replace its history by a summary.
dir=$PI_CODING_AGENT_SESSION_DIR
id=
while [ $# -gt 0 ]; do
    if [ "$1" = --session ]; then
        id=$2
        if [ -f "$dir/lost" ]; then
            echo "cannot open the session" >&2
            exit 1
        fi
    fi
    shift
done
prompt=$(cat; echo x)
prompt=${prompt%x}
if [ -z "$id" ]; then
    id=s$$-$(ls "$dir" | wc -l)
    printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-11-17T11:34:24.588Z","cwd":"/w"}\n' "$id" >"$dir/1_$id.jsonl"
fi
file=$dir/1_$id.jsonl
if [ ! -f "$file" ]; then
    echo "no session found matching '$id'" >&2
    exit 1
fi
n=$(wc -l <"$file")
printf '%s' "$prompt" >"$dir/$id.$(printf %04d "$n").prompt"
say() {
    parent=$(tail -n 1 "$file" | sed -n 's/.*"id":"\(r[0-9]*\)".*/"\1"/p')
    printf '{"type":"message","id":"r%s","parentId":%s,"timestamp":"2026-11-17T11:34:25.000Z","message":{"role":"%s","content":[{"type":"text","text":"%s"}],"stopReason":"stop","timestamp":1}}\n' \
        "$1" "${parent:-null}" "$2" "$3" >>"$file"
}
say "$n" user "prompt $n"
printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-11-17T11:34:24.588Z","cwd":"/w"}\n{"type":"agent_start"}\n' "$id"
case $prompt in
*"[FAIL]"*) exit 1 ;;
*"[COMPACT]"*) printf '{"type":"compaction","id":"c1","parentId":"r%s","timestamp":"2026-11-17T11:34:25.000Z","summary":"All before","firstKeptEntryId":"r%s","tokensBefore":10}\n' "$n" "$n" >>"$file" ;;
esac
answer="Answer $n of $id. @ann"
say "$((n + 1))" assistant "$answer"
printf '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"model":"m1","usage":{"input":10,"output":2,"cacheRead":%s,"cacheWrite":1},"stopReason":"stop","timestamp":1}}\n{"type":"agent_settled"}\n' "$answer" "$((n * 10))"
