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

  func perform(_ session: Session) throws { try Output.line(CofferCommand.completionScript(for: shell.kind)) }
}
