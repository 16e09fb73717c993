internal import Coffer
internal import CofferTerminal
internal import SystemPackage

/// The report of an install beside the names of the programs: the written files, and a person's next steps.
struct InstallReport {
  let prefix: FilePath
  let manuals: Int
  let hasCompletions: Bool
  let isOnPath: Bool

  func tell(_ context: Context) {
    let pages = "\(manuals) manual pages, from coffer(1) on, are in \(share.appending("man"))"
    let scripts = "completion: bash (with bash-completion) and fish find it in a new shell"
    context.done(pages, elsewhere: pages)
    if hasCompletions { context.done(scripts, elsewhere: scripts) }
    guard Display.errors.isTerminal, !context.quiet else {
      for (what, step) in steps { context.note("\(what): \(step)") }
      return
    }
    let column = (steps.map(\.what.count).max() ?? 0) + 2
    let rows = steps.map { what, step in
      let isLong = 2 + column + step.count > Display.errors.width
      return "  " + Style.bold.text(what, .errors) + (isLong ? "\n    " : TextWidth.blanks(column - what.count))
        + Printable.line(step)
    }
    // A shell's lines must stay whole.
    Output.record("\nNext:\n" + rows.joined(separator: "\n"))
  }

  private var share: FilePath { prefix.appending("share") }

  private var steps: [(what: String, step: String)] {
    let bin = prefix.appending("bin")
    let git = GitHelperSetting.quoted(GitHelperSetting.value(program: bin.appending("git-credential-coffer").string))
    // zsh searches there by itself.
    let findsZsh = !hasCompletions || share == FilePath("/usr/local/share")
    return (isOnPath ? [] : [("PATH", "export PATH=\(bin):$PATH in ~/.profile")])
      + (findsZsh ? [] : [("zsh", "fpath+=(\(CompletionFiles.zsh(below: share))) before compinit in ~/.zshrc")])
      + [
        ("git", "git config --global credential.helper \(git)"),
        ("docker", "\"credsStore\": \"coffer\" in ~/.docker/config.json"),
      ]
  }
}
