internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferTerminal
internal import CofferVault

struct CompletionCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print a shell's completion script.",
    discussion: """
      bash: source <(coffer completion bash) in ~/.bashrc. zsh: coffer completion zsh > ~/.zfunc/_coffer, with fpath+=~/.zfunc \
      before compinit in ~/.zshrc. fish: coffer completion fish > ~/.config/fish/completions/coffer.fish. Domains and keys \
      of preferences are completed always, services and accounts where COFFER_KEY_FILE or COFFER_IDENTITY opens the vault or an \
      agent has it open. Completion never asks for anything.
      """)

  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish
    var kind: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }

    /// Without its last newline.
    ///
    /// - Throws: if the parser's description of the commands cannot be read.
    func script() throws -> String {
      guard self != .fish else { return try FishScript().text }
      // The command after `run` is completed as it would be without it.
      let script = ScriptAliases.added(to: CofferCommand.completionScript(for: kind))
        .replacing("'*:command:'", with: "'*::command:_normal'")
      return script + (self == .bash ? "\n" + CompletionCommand.wholeWords : "")
    }
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    try Output.line(shell.script())
  }

  /// bash ends a word at a colon and other signs, which many names contain, and keeps quotes in it. The script gets the
  /// words as the command would. Answers lose the part before the word that the shell completes, and are quoted like that
  /// word. They must not be completed as file names unless they are files: bash would show only the part behind their last
  /// slash. The words after the `--` of `run` are a line of their own.
  fileprivate static let wholeWords = #"""

    _coffer_whole_words() {
        local -r typed="${COMP_LINE:0:${COMP_POINT}}"
        local -a whole=()
        local word='' quote='' sign there=''
        local -i at part begun=0
        for ((at = 0; at < ${#typed}; at++)); do
            ((at == ${#typed} - ${#2})) && there="${word}"
            sign="${typed:at:1}"
            case "${quote}${sign}" in
            "''" | '""') quote='' ;;
            "'"? | '"'[!\\]) word+="${sign}" ;;
            '"\') [[ "${typed:at + 1:1}" == [\"\$\`\\] ]] && ((at++)); word+="${typed:at:1}" ;;
            [[:space:]])
                ((begun)) && whole+=("${word}")
                word='' begun=0
                continue
                ;;
            \\) ((at++)); word+="${typed:at:1}" ;;
            [\"\']) quote="${sign}" ;;
            *) word+="${sign}" ;;
            esac
            begun=1
        done
        [[ -n "${2}" ]] || there="${word}"
        whole+=("${word}")
        local -a COMP_WORDS=("${whole[@]}")
        local -i COMP_CWORD="$((${#whole[@]} - 1))"
        local COMP_LINE="${whole[*]}"
        local -i COMP_POINT="${#COMP_LINE}"
        if [[ " ${whole[*]:1:2} " == *' run '* || " ${whole[*]:1:2} " == *' exec '* ]]; then
            for ((at = 2; at < COMP_CWORD; at++)); do
                [[ "${whole[at]}" == -- ]] || continue
                if ((at + 1 == COMP_CWORD)); then
                    COMPREPLY=($(compgen -c -- "${word}"))
                else
                    COMPREPLY=($(compgen -f -- "${word}"))
                fi
                return
            done
        fi
        _coffer "${1}" "${word}" "${whole[$((COMP_CWORD - 1))]}"
        local reply
        for reply in "${COMPREPLY[@]}"; do
            [[ -e "${reply}" ]] && return
        done
        compopt +o filenames 2> /dev/null
        for at in "${!COMPREPLY[@]}"; do
            reply="${COMPREPLY[at]#"${there}"}"
            if [[ -n "${quote}" ]]; then
                COMPREPLY[at]=''
                for ((part = 0; part < ${#reply}; part++)); do
                    sign="${reply:part:1}"
                    case "${quote}${sign}" in
                    "''") sign="'\\''" ;;
                    '"!') sign="\"'!'\"" ;;
                    '"'[\"\$\`\\]) sign="\\${sign}" ;;
                    esac
                    COMPREPLY[at]+="${sign}"
                done
                # The shell puts no closing quote where one stands.
                [[ "${COMPREPLY[at]}" != *"${quote}" ]] || COMPREPLY[at]+="${quote}"
            else
                [[ -z "${reply}" || "${reply}" == *' ' ]] || printf -v reply '%q' "${reply}"
                COMPREPLY[at]="${reply}"
            fi
        done
    }

    complete -o filenames -F _coffer_whole_words coffer
    """#
}
