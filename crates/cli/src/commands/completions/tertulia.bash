_tertulia() {
    local IFS=$'\n' offered offer words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    # A colon at the end is part of a word.
    [[ ${words[COMP_CWORD]} == : ]] || words[COMP_CWORD]="$2"
    COMPREPLY=()
    if offered=$(TERTULIA_COMPLETE=bash tertulia -- "${words[@]}" 2>/dev/null); then
        while read -r offer; do
            [[ -n $offer ]] || continue
            # Inside quotes bash takes it as it is.
            [[ ${COMP_WORDS[COMP_CWORD]} == [\'\"]* ]] || printf -v offer %q "$offer"
            COMPREPLY+=("$offer")
        done <<<"$offered"
    else
        compopt -o default 2>/dev/null
    fi
}
complete -F _tertulia tertulia
