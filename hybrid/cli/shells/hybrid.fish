# Completes the hybrid command in fish. Load it in ~/.config/fish/config.fish:
#   hybrid completions fish | source
# or write it once to ~/.config/fish/completions/hybrid.fish.
# It asks the program itself, so it stays right after an upgrade.

function __hybrid_completions
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    for answer in ($typed[1] completions answer $typed[2..-1] "$current" 2>/dev/null)
        switch $answer
            case :files
                __fish_complete_path "$current"
            case :dirs
                __fish_complete_directories "$current" ''
            case '*'
                printf '%s\n' $answer
        end
    end
end

complete -c hybrid -f -k -a '(__hybrid_completions)'
