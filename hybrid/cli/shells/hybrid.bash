# Completes the hybrid command in bash 3.2 and later. Load it in ~/.bashrc:
#   eval "$(hybrid completions bash)"
# or write it once to ~/.local/share/bash-completion/completions/hybrid, where bash-completion finds it.
# It asks the program itself, so it stays right after an upgrade.

_hybrid() {
    local line=${COMP_LINE:0:COMP_POINT} typed word blank n=-1 i
    typed=()
    # bash cuts words at = and : as well; the words of the command line are those between blanks.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        blank=${line%%[![:space:]]*}
        line=${line#"$blank"}
        ((i == COMP_CWORD)) && word=$line
        if ((n < 0)) || [[ -n $blank ]]; then
            n=$((n + 1))
            typed[n]=$word
        else
            typed[n]+=$word
        fi
        line=${line#"$word"}
    done

    local current=${typed[n]} value quoted about skip=
    [[ $COMP_WORDBREAKS == *=* && $current == *=* ]] && skip=${current%"${current##*=}"}
    [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && skip=${current%"${current##*[=:]}"}
    COMPREPLY=()
    compopt +o default 2>/dev/null
    while IFS=$'\t' read -r value about; do
        if [[ $value == :files ]]; then
            compopt -o default 2>/dev/null
        elif [[ $value == :dirs ]]; then
            compopt -o dirnames 2>/dev/null
        else
            # The shell reads what is put in: a name must not become a command.
            printf -v quoted %q "$value"
            [[ $value == "$current"* || $quoted == "$current"* ]] || continue
            [[ $value == *= ]] && compopt -o nospace 2>/dev/null
            COMPREPLY[${#COMPREPLY[@]}]=${quoted#"$skip"}
        fi
    done < <("${typed[0]/#\~\//$HOME/}" completions answer "${typed[@]:1}" 2>/dev/null)
}

complete -o default -F _hybrid hybrid
