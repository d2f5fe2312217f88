_tertulia() {
    local IFS=$'\n' offered words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    words[COMP_CWORD]="$2"
    COMPREPLY=()
    if offered=$(TERTULIA_COMPLETE=bash tertulia -- "${words[@]}" 2>/dev/null); then
        COMPREPLY=($offered)
    else
        compopt -o default 2>/dev/null
    fi
}
complete -F _tertulia tertulia
