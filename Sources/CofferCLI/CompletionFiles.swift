internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// Completion scripts in the shells' own search places.
enum CompletionFiles {
  /// Sources: bash-completion's README, "Where should I put it"; zshcompsys(1); fish's manual, "Where to put completions".
  static func all(below share: FilePath) -> [InstalledFile] {
    [
      (CompletionCommand.Shell.bash, share.appending("bash-completion").appending("completions").appending("coffer")),
      (.zsh, zsh(below: share).appending("_coffer")),
      (.fish, share.appending("fish").appending("vendor_completions.d").appending("coffer.fish")),
    ].map { shell, path in InstalledFile(path: path, content: .bytes(Data((shell.script + "\n").utf8), mode: 0o644)) }
  }

  static func zsh(below share: FilePath) -> FilePath { share.appending("zsh").appending("site-functions") }
}
