internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

/// The folder of pins: `id-…` for each vault, with the newest commit seen; `at-…` for each path, or each host of a server's
/// place, with the vault expected there; `cp-…` for each copy at another path, with the newest commit seen of it; and `mi-…`
/// for each mirror's path, with the mirror's commit.
struct PinFolder {
  /// Resolved, or as given if it does not exist yet.
  private(set) var path: FilePath
  let calls: SystemCalls
  private var isThere: Bool

  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` for a folder that others can write or replace: changing pins
  ///   decides what counts as a rollback.
  init(_ folder: FilePath, calls: SystemCalls) throws(StoreError) {
    let found = try TrustedPath.privateFolder(folder)
    path = found ?? folder
    isThere = found != nil
    self.calls = calls
  }

  /// Nil if this machine has none.
  func pin(of vault: VaultSalt) throws(StoreError) -> PinFile? {
    isThere ? try PinFile(name(of: vault), calls: calls) : nil
  }

  /// Durable. If another process does so at the same time, the first one counts.
  mutating func make(_ record: PinRecord) throws(StoreError) -> PinFile {
    try makeFolder()
    return try make(record, name(of: record.vault))
  }

  /// The pin of `vault` at `place`; nil if there is none. A copy of a vault known at another place has its own pin, because
  /// its age says nothing about the vault.
  func pin(of vault: VaultSalt, at place: VaultPlace, isExpected: Bool) throws(StoreError) -> (file: PinFile?, isOfCopy: Bool) {
    guard isThere, place.path != nil else { return (try pin(of: vault), false) }
    if let copy = try PinFile(name(of: vault, copiedTo: place), calls: calls) { return (copy, true) }
    let file = try pin(of: vault)
    if isExpected || file == nil { return (file, false) }
    return try isExpectedElsewhere(vault, place) ? (nil, true) : (file, false)
  }

  /// Whether `vault` is expected at another place. A process that died between writing its two pins has named none, and one
  /// that opens the vault for the first time at the same moment may have named this place just now.
  private func isExpectedElsewhere(_ vault: VaultSalt, _ place: VaultPlace) throws(StoreError) -> Bool {
    let here = place.pinned.map { name(at: $0) }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: path.string) } catch { return true }
    for name in names where name.hasPrefix("at-") && !here.contains(path.appending(name)) {
      do throws(StoreError) { if try expected(path.appending(name), place) == vault { return true } } catch {
        guard error.kind == .damaged else { throw error }
      }
    }
    return false
  }

  mutating func make(_ record: PinRecord, ofCopyAt place: VaultPlace) throws(StoreError) -> PinFile {
    try makeFolder()
    return try make(record, name(of: record.vault, copiedTo: place))
  }

  /// Nil if this machine has made none there.
  func pin(ofMirrorAt place: VaultPlace) throws(StoreError) -> PinFile? {
    isThere ? try PinFile(name(ofMirrorAt: place), isOfMirror: true, calls: calls) : nil
  }

  mutating func make(_ record: PinRecord, ofMirrorAt place: VaultPlace) throws(StoreError) -> PinFile {
    try makeFolder()
    return try make(record, name(ofMirrorAt: place), isOfMirror: true)
  }

  private func make(_ record: PinRecord, _ name: FilePath, isOfMirror: Bool = false) throws(StoreError) -> PinFile {
    let draft = try Draft(beside: name)
    let encoded = record.encoded()
    let content = encoded + [UInt8](repeating: 0, count: PinRecord.offsets[1] - PinRecord.count) + encoded
    try AtomicFile(draft.path, draft: draft.next, calls: calls).replace(with: content.span.bytes, mode: 0o600)
    let code = NewName.give(draft.path, name)
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "name the pin", place: name) }
    try AtomicFile.synchronizeFolder(of: name, calls)
    guard let file = try PinFile(name, isOfMirror: isOfMirror, calls: calls) else {
      throw StoreError(.busy, "the pin was removed while it was created", place: name.string, cure: "try again")
    }
    return file
  }

  /// The vaults expected at `place`, one for each of its known names; nil for a name without one.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged``.
  func expected(at place: VaultPlace) throws(StoreError) -> [VaultSalt?] {
    try place.pinned.map { (pinned) throws(StoreError) in try expected(name(at: pinned), place) }
  }

  private func expected(_ name: FilePath, _ place: VaultPlace) throws(StoreError) -> VaultSalt? {
    guard isThere, try TrustedPath.privateFile(name) != nil else { return nil }
    let descriptor = calls.open(name.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: -descriptor, "open the pin", place: name) }
    defer { close(descriptor) }
    // One byte more than a valid file has.
    return try withUnsafeTemporaryAllocation(byteCount: 17, alignment: 8) { (bytes) throws(StoreError) in
      let count = calls.read(descriptor, bytes, 0)
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the pin", place: name) }
      guard let vault = VaultSalt(UnsafeRawBufferPointer(rebasing: bytes[..<count])) else {
        throw StoreError(
          .damaged, "the pin for the vault at \(place) is unreadable", place: name.string,
          cure: "check that the right vault is there, then accept it with LockedVault.unlockAcceptingPin(with:)",
          remedy: .acceptAtPath)
      }
      return vault
    }
  }

  /// Durable.
  mutating func expect(_ vault: VaultSalt, at place: VaultPlace) throws(StoreError) {
    try makeFolder()
    for pinned in place.pinned {
      let name = name(at: pinned)
      let draft = try Draft(beside: name)
      try AtomicFile(name, draft: draft.path, calls: calls).replace(with: vault.bytes.span.bytes, mode: 0o600)
    }
  }

  private mutating func makeFolder() throws(StoreError) {
    guard !isThere else { return }
    path = try TrustedPath.makePrivateFolder(path)
    isThere = true
  }

  private func name(of vault: VaultSalt) -> FilePath { path.appending("id-\(vault)") }

  private func name(of vault: VaultSalt, copiedTo place: VaultPlace) -> FilePath {
    path.appending("cp-\(Self.digest(vault.bytes + place.description.utf8))")
  }

  private func name(at pinned: [UInt8]) -> FilePath { path.appending("at-\(Self.digest(pinned))") }

  private func name(ofMirrorAt place: VaultPlace) -> FilePath {
    path.appending("mi-\(Self.digest([UInt8](place.description.utf8)))")
  }

  /// A path may be too long for a file name.
  private static func digest(_ pinned: [UInt8]) -> String {
    let digest = pinned.span.bytes.withUnsafeBytes { PlainHash.digest($0) }
    return Hex.text(digest.bytes.prefix(16))
  }
}

extension VaultPlace {
  /// The vaults that a folder of pins expects here, as far as known without asking a server.
  package func expected(by pins: FilePath) throws(StoreError) -> [VaultID] {
    let found = try server.map { (place) throws(StoreError) in try place.server().named(place.url) } ?? self
    return try PinFolder(pins, calls: SystemCalls()).expected(at: found).compactMap { $0.map { VaultID(bytes: $0.bytes) } }
  }
}
