# Plays Claude Code, whose process waits for the next turn. Writes the transcript of its only session. Every start is a
# line of the file `starts`, with the process id and the arguments.
case "$*" in *--version*) echo '9.8.7 (Claude Code)'; exit ;; esac
SID=11111111-1111-4111-8111-111111111111
FILE="$CLAUDE_CONFIG_DIR/projects/p/$SID.jsonl"
mkdir -p "$CLAUDE_CONFIG_DIR/projects/p"
printf '%s\n' "$$ $*" >>"$CLAUDE_CONFIG_DIR/starts"
while IFS= read -r line; do
  uuid=${line#*\"uuid\":\"}
  uuid=${uuid%%\"*}
  printf '%s\n' '{"type":"command_lifecycle","command_uuid":"'"$uuid"'","state":"started","session_id":"'$SID'"}'
  printf '%s\n' '{"type":"system","subtype":"init","session_id":"'$SID'","model":"m"}'
  printf '%s\n' '{"type":"user","uuid":"'"$uuid"'","parentUuid":null,"sessionId":"'$SID'","isSidechain":false,"message":{"role":"user","content":"x"}}' >>"$FILE"
  answer="warm answer $(grep -c '"type":"user"' "$FILE")."
  printf '%s\n' '{"type":"assistant","uuid":"a-'"$uuid"'","parentUuid":"'"$uuid"'","sessionId":"'$SID'","isSidechain":false,"message":{"id":"m-'"$uuid"'","role":"assistant","content":[{"type":"text","text":"'"$answer"'"}]}}' >>"$FILE"
  printf '%s\n' '{"type":"result","subtype":"success","session_id":"'$SID'","is_error":false,"result":"'"$answer"'"}'
done
