#compdef hybrid
# Completes the hybrid command in zsh. Load it in ~/.zshrc, after compinit:
#   source <(hybrid completions zsh)
# or write it once to a file _hybrid in a folder of $fpath.
# It asks the program itself, so it stays right after an upgrade.

_hybrid() {
    local value about
    local -a found typed
    typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    while IFS=$'\t' read -r value about; do
        case $value in
        :files) _files ;;
        :dirs) _files -/ ;;
        *=) compadd -S '' -- "$value" ;;
        *) found+=("${value//:/\\:}${about:+:$about}") ;;
        esac
    done < <("${typed[1]}" completions answer "${(@)typed[2,-1]}" 2>/dev/null)
    (( $#found )) && _describe -V 'hybrid' found
}

if [[ ${funcstack[1]} == _hybrid ]]; then
    _hybrid "$@"
else
    compdef _hybrid hybrid
fi
