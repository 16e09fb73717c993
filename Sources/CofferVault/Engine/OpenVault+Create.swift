internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension OpenVault {
  /// Creates a vault at `path` with one slot, of the kind that `credentials` make, and opens it.
  static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost?, label: String,
    options: VaultOptions = .withoutPins, clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    guard !credentials.isEmpty else {
      throw StoreError(
        .locked, "a vault needs a secret to be opened with", place: path.string, cure: "give a passphrase or a key file")
    }
    try RecordLimits.check(slotLabel: label)
    let inputs = try SlotInputs(credentials)
    let kind = try inputs.kindToMake()
    let vault = VaultSalt.random()
    let place = SlotPlace(format: UInt32(VaultFormat.version), vault: vault)
    let key = try checked(path) { () throws(FormatError) in try VaultKey.random() }
    let floor = cost ?? .floor
    let made = try newSlot(kind, for: inputs, cost: cost, floor: floor, place: place, options)
    let now = Milliseconds.count(clock())
    let keys = try checked(path) { () throws(FormatError) in try Subkeys(of: key, vault: vault) }
    let header = try checked(path) { () throws(FormatError) in
      let body = try HeaderBody(created: now, rotated: now, floor: floor, labels: [label]) { _, out in made.writeMix(to: out) }
      let slot = try made.sealed(key, epoch: 1, place: place)
      return try VaultHeader(vault: vault, epoch: 1, slots: [slot], body: body, keys: keys)
    }
    let encoded = header.encoded()
    let digest = encoded.span.bytes.withUnsafeBytes { PlainHash.digest($0) }
    var slot: OpenSlot?
    do { slot = try made.opened(in: header) } catch { throw error.storeError(place: path.string) }
    let database = try VaultDatabase.create(at: path) { (database) throws(StoreError) in
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
        try database.putHeader(.first, bytes)
        try database.putHeader(.second, bytes)
      }
      var state = VaultState(
        generation: 1, commit: .random(), root: DigestTree(emptyUnder: keys).root, records: 0, time: now, logSequence: 0,
        logHead: .zero)
      try append(LogEntry(.vaultCreated, by: .current, time: now), to: &state, database, keys)
      try put(state, header, digest, database, keys)
    }
    do throws(StoreError) {
      let created = try database.read { () throws(StoreError) in
        guard let slot = slot.take() else { throw missing("slot", database) }
        return try OpenVault(
          database: database, header: header, headerDigest: digest, slot: slot, options: options, clock: clock)
      }
      created.watchCreated()
      return created
    } catch {
      // Whoever is told that it failed takes back what was to open it.
      database.close()
      VaultDatabase.remove(database.path)
      throw error
    }
  }
}
