internal import Coffer
internal import FoundationEssentials
internal import SystemPackage

// The steps that try to prove the tour wrong: an attack on the vault, and what a logout leaves behind.
extension Tour {
  func flipByte(_ token: borrowing SecretBytes) throws {
    try step("Flip one byte in a copy of the vault")
    let copy = try VaultCopy(of: places, in: home.appending("copy"))
    defer { do { try FileManager.default.removeItem(atPath: copy.home.string) } catch {} }
    let untouched = try coffer("get", "token", "--key-file", keyFile.string, home: copy.home)
    try story.claim(untouched.status == 0 && untouched.output == token, "the copy as it is gives the token")
    for offset in copy.candidates {
      try copy.flip(offset)
      let answer = try coffer("get", "token", "--key-file", keyFile.string, home: copy.home, isSilent: true)
      guard answer.status != 0 else {
        // Not a byte this answer rests on. A wrong value would be the end of the tour.
        guard answer.output == token else { throw Failure.claim("a changed vault gave a changed value") }
        continue
      }
      guard answer.status == ExitStatus.untrusted.rawValue else { continue }
      try story.say("byte \(offset) of \(copy.size) flipped")
      try story.command(["get", "token", "--domain", Self.domain, "--key-file", inside(keyFile)])
      try story.code(answer.messages)
      return try story.claim(true, "refused with exit status \(answer.status): \(ExitStatus.untrusted.meaning)")
    }
    throw Failure.claim("no flipped byte was noticed")
  }

  func logOut(_ token: borrowing SecretBytes, _ key: borrowing SecretBytes) throws {
    try step("Log out: what was marked endsWithSession() goes, from both stores at once")
    try withApp(key) { app in
      try app.transaction { tx in
        try tx.remove(keys.token)
        try tx.remove(keys.account)
      }
    }
    let secret = try coffer("get", "token", "--key-file", keyFile.string)
    try story.claim(
      secret.status == ExitStatus.notFound.rawValue, "the token is gone from the vault: exit status \(secret.status)")
    let account = try coffer("get", "account", "--key-file", keyFile.string)
    try story.claim(account.status == ExitStatus.notFound.rawValue, "the account's name is gone from the property list")
    let toggle = try coffer("get", "notifications")
    try story.claim(toggle.text == "true", "the toggle, a preference of yours, stayed")
    try claimNowhere(token)
  }

  func claimNowhere(_ token: borrowing SecretBytes) throws {
    let files = try ByteSearch.files(under: home)
    let found = try ByteSearch.find(token, in: files)
    let bytes = files.reduce(0) { $0 + $1.bytes.count }
    try story.claim(
      found == nil,
      found.map { "the token is in \(inside($0.path)) as \($0.encoding)" }
        ?? "the token is nowhere: \(bytes) bytes of \(files.count) files searched for it as text, hexadecimal, Base64 and UTF-16")
  }
}
