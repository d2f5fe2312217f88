function __tertulia_complete
    set -l offered (TERTULIA_COMPLETE=fish tertulia -- (commandline -opc) (commandline -ct) 2>/dev/null)
    if test $status -eq 0
        string join \n -- $offered
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c tertulia -f -k -a '(__tertulia_complete)'
