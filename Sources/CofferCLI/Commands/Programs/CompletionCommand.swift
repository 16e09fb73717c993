internal import ArgumentParser

struct CompletionCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print a shell's completion script.",
    discussion: """
      bash: source <(coffer completion bash) in ~/.bashrc. zsh: coffer completion zsh > ~/.zfunc/_coffer, with fpath+=~/.zfunc \
      before compinit in ~/.zshrc. fish: coffer completion fish > ~/.config/fish/completions/coffer.fish. Domains and keys \
      of preferences are completed always, services and accounts where COFFER_KEY_FILE or COFFER_IDENTITY opens the vault or an \
      agent has it open. Completion never asks for anything.
      """)

  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish
    var kind: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    try Output.line(CofferCommand.completionScript(for: shell.kind))
    if shell == .bash { try Output.line(Self.wholeWords) }
  }

  /// bash ends a word at a colon, which stands in many a service. The words are put together again for the script, and what the line
  /// has of the last one already is taken off the answers.
  private static let wholeWords = #"""

    _coffer_whole_words() {
        local -r typed="${COMP_LINE:0:${COMP_POINT}}"
        if [[ "${typed}" != *:* ]]; then
            _coffer "${@}"
            return
        fi
        local -a whole
        read -ra whole <<< "${typed}"
        [[ "${typed}" == *[[:space:]] ]] && whole+=('')
        local -a COMP_WORDS=("${whole[@]}")
        local -i COMP_CWORD="$((${#whole[@]} - 1))"
        local -r word="${whole[${COMP_CWORD}]}"
        _coffer "${1}" "${word}" "${whole[$((COMP_CWORD - 1))]}"
        local -r there="${word%"${word##*:}"}"
        COMPREPLY=("${COMPREPLY[@]#"${there}"}")
    }

    complete -o filenames -F _coffer_whole_words coffer
    """#
}
