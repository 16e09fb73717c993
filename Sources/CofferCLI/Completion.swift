internal import ArgumentParser
internal import CofferTerminal

struct CompletionCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print a shell's completion script.",
    discussion: """
      bash: source <(coffer completion bash) in ~/.bashrc. zsh: coffer completion zsh > ~/.zfunc/_coffer, with fpath+=~/.zfunc \
      before compinit in ~/.zshrc. fish: coffer completion fish > ~/.config/fish/completions/coffer.fish. Domains and keys \
      of preferences always complete; services and accounts do if COFFER_KEY_FILE or COFFER_IDENTITY opens the vault, or an \
      agent has it open. Completion never asks for anything.
      """)

  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish

    /// Without its last newline.
    var script: String {
      switch self {
      case .bash: CompletionCommand.bash
      case .zsh: CompletionCommand.zsh
      case .fish: CompletionCommand.fish
      }
    }
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws { try Output.line(shell.script) }

  private static let bash = #"""
    _coffer() {
        local -a answer
        mapfile -t answer < <("${1}" ---complete bash "${COMP_LINE:0:COMP_POINT}" "${2}" 2> /dev/null)
        COMPREPLY=()
        case "${answer[0]}" in
        words) COMPREPLY=("${answer[@]:1}") ;;
        files) compopt -o default ;;
        command) mapfile -t COMPREPLY < <(compgen -c -- "${2}") ;;
        esac
    }

    complete -F _coffer coffer
    """#

  private static let zsh = #"""
    #compdef coffer

    _coffer() {
        local -a answer
        answer=("${(@f)$(command "${words[1]}" ---complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
        case "${answer[1]}" in
        words)
            shift answer
            ((${#answer})) && _describe -V '' answer
            ;;
        files) _files ;;
        command*)
            local -i before="$((${answer[1]#command } + 1))"
            shift "${before}" words
            ((CURRENT -= before))
            _normal
            ;;
        esac
    }

    if [[ "${funcstack[1]}" == _coffer ]]; then _coffer; else compdef _coffer coffer; fi
    """#

  private static let fish = #"""
    function __coffer_words
        if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
            commandline --tokens-raw $argv
        else
            commandline -o $argv
        end
    end

    function __coffer_complete
        set -l words (__coffer_words -pc)
        set -l current (commandline -ct)
        set -l answer (command $words[1] ---complete fish $words[2..] "$current" 2> /dev/null)
        switch "$answer[1]"
            case words
                test (count $answer) -gt 1; and printf '%s\n' $answer[2..]
            case files
                __fish_complete_path $current
            case 'command *'
                set -l first (math 2 + (string replace 'command ' '' -- $answer[1]))
                complete -C (string join ' ' -- (string escape -- $words[$first..]) "$current")
        end
    end

    complete -c coffer -f -k -a '(__coffer_complete)'
    """#
}
