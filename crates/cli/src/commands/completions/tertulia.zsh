#compdef tertulia
_tertulia() {
    local offered
    if offered=$(TERTULIA_COMPLETE=zsh tertulia -- "${(@Q)words[1,CURRENT]}" 2>/dev/null); then
        local -a lines=("${(@f)offered}")
        [[ -n $offered ]] && _describe -V tertulia lines
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _tertulia ]]; then
    _tertulia "$@"
else
    compdef _tertulia tertulia
fi
