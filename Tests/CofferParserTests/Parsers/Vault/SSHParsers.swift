import CofferAgent
import CofferPlatform

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferSSH

/// What programs, and servers behind them, send to an agent of SSH.
enum SSHParsers {
  static let all = [request]

  static let request = Parser(
    "ssh-request", longest: 512, words: ["session-bind@openssh.com", "query", "\u{B}", "\u{D}", "\u{1B}"]
  ) { input in
    func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
      withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
    }
    try input.lent { raw in
      switch try SSHRequest.parse(raw) {
      case .sign(let blob, let data, let flags):
        let again = [13] + string(blob) + string(data) + withUnsafeBytes(of: flags.bigEndian) { Array($0) }
        try promise(again == input, "a request to sign has another encoding")
      case .remove(let blob): try promise([18] + string(blob) == input, "a removal has another encoding")
      case .lock(let passphrase): try promise([22] + string(passphrase) == input, "a lock has another encoding")
      case .unlock(let passphrase): try promise([23] + string(passphrase) == input, "an unlock has another encoding")
      case .add(let fields, _): try promise(Array(fields) == Array(input.dropFirst()), "a key lacks a byte")
      case .bind(let binding?): try promise(binding.sessionID.count <= KeyLimits.longestSession, "a session's id is too long")
      case .bind(nil), .list, .removeAll, .query, .unknown: break
      }
    }
  }
}
