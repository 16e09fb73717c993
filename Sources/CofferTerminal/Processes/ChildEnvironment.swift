package import Coffer
internal import CofferStorage
internal import CofferPlatform

/// A command's environment: the inherited one without the variables that unlock the vault, and with given values.
package struct ChildEnvironment {
  /// A command that gets some secrets must not get all of them.
  package static let unlocking: Set = ["COFFER_PASSPHRASE", "COFFER_PASSPHRASE_FILE", "COFFER_KEY_FILE", "COFFER_IDENTITY"]

  /// `NAME=value` with its final zero, in guarded memory, by name.
  private var given: [String: SecretForm] = [:]

  package init() {}

  /// Overrides an inherited value.
  ///
  /// - Throws: a usage failure for a value with a NUL byte, which the environment cannot hold.
  package mutating func set(_ name: String, _ value: borrowing SecretBytes) throws {
    let isText = value.withUnsafeBytes { !$0.contains(0) }
    guard isText else {
      throw Failure.usage(
        "the value for \(name) has a NUL byte, which an environment cannot hold", try: "--fd or --file, which carry any bytes")
    }
    let entry = try value.withUnsafeBytes { raw in
      try SecretBytes.written { put in
        "\(name)=".utf8.forEach(put)
        raw.forEach(put)
        put(0)
      }
    }
    given[name] = SecretForm(entry)
  }

  package mutating func set(_ name: String, _ text: String) throws {
    let value = try text.utf8Span.span.bytes.withUnsafeBytes { raw in SecretForm(try SecretBytes(copying: raw)) }
    try set(name, value.bytes)
  }

  package var path: ByteWord? {
    guard let entry = given["PATH"] else { return ProcessEnvironment.word("PATH") }
    // The entry ends with a zero.
    return entry.bytes.withUnsafeBytes { raw in
      raw.baseAddress.map { ByteWord($0.advanced(by: "PATH=".utf8.count).assumingMemoryBound(to: CChar.self)) }
    }
  }

  package func lend<Result>(_ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws -> Result) rethrows -> Result {
    var entries: [UnsafeMutablePointer<CChar>?] = []
    var next = coffer_environment()
    while let entry = next?.pointee {
      if isPassedOn(entry) { entries.append(entry) }
      next = next?.advanced(by: 1)
    }
    // Guarded memory does not move while its form lives, which is longer than this call.
    for form in given.values {
      let start = form.bytes.withUnsafeBytes { $0.baseAddress.map { UnsafeMutableRawPointer(mutating: $0) } }
      entries.append(start?.assumingMemoryBound(to: CChar.self))
    }
    entries.append(nil)
    return try withExtendedLifetime(given) { try entries.withUnsafeBufferPointer { try body($0.baseAddress.unsafelyUnwrapped) } }
  }

  private func isPassedOn(_ entry: UnsafePointer<CChar>) -> Bool {
    let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: strcspn(entry, "=")), as: UTF8.self)
    return given[name] == nil && !Self.unlocking.contains(name)
  }
}
