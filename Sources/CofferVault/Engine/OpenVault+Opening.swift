internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

extension OpenVault {
  static func create(
    at place: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost?, label: String,
    options: VaultOptions = .withoutPins, clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    guard !credentials.isEmpty else {
      throw StoreError(
        .noCredentials, "a vault needs a secret to unlock it", place: place.description,
        cure: "give a passphrase or a key file")
    }
    try RecordLimits.check(slotLabel: label)
    let inputs = try SlotInputs(credentials)
    let kind = try inputs.kindToMake()
    let vault = VaultSalt.random()
    let slotPlace = SlotPlace(vault: vault)
    let key = try StoredParts.checked(place) { () throws(FormatError) in try VaultKey.random() }
    let floor = cost ?? .floor
    let made = try SlotTable.newSlot(kind, for: inputs, cost: cost, floor: floor, place: slotPlace, options)
    let now = Milliseconds.count(clock())
    let firstSlot = made.id
    let keys = try StoredParts.checked(place) { () throws(FormatError) in try Subkeys(of: key, vault: vault, epoch: 1) }
    let header = try StoredParts.checked(place) { () throws(FormatError) in
      let body = try HeaderBody(created: now, rotated: now, floor: floor, labels: [label]) { _, out in made.writeMix(to: out) }
      let slot = try made.sealed(key, keys.epochMark, place: slotPlace)
      return try VaultHeader(slots: [slot], body: body, keys: keys, lineage: .first)
    }
    let encoded = header.encoded()
    let digest = encoded.span.bytes.withUnsafeBytes { PlainHash.digest($0) }
    var slot: OpenSlot?
    do { slot = try made.opened(in: header) } catch { throw error.storeError(place: place.description) }
    let database = try place.makeRows(granting: options.roles) { (database) throws(StoreError) in
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
        try database.putHeader(.first, bytes)
        try database.putHeader(.second, bytes)
      }
      var state = VaultState(
        generation: 1, commit: .random(), root: DigestTree(emptyUnder: keys).root, counts: .none, time: now, logSequence: 0,
        logHead: .zero)
      try VaultLog.append(LogEntry(.vaultCreated, by: .current, time: now), to: &state, with: firstSlot, database, keys)
      try StoredParts.put(state, header, digest, database, keys)
    }
    do throws(StoreError) {
      let created = try database.read { () throws(StoreError) in
        guard let slot = slot.take() else { throw StoredParts.missing("slot", database) }
        return try OpenVault(
          database: database, header: header, headerDigest: digest, slot: slot, anchors: [], pin: nil, options: options,
          clock: clock)
      }
      created.watchCreated(in: options.pins)
      return created
    } catch {
      // The caller takes back its new secrets after a failure.
      database.discard()
      throw error
    }
  }

  /// Opens the vault at `path` with the first slot that `credentials` open.
  ///
  /// Holds no transaction while Argon2id runs. If another process rotates the key meanwhile, the slot follows by its kept
  /// secret.
  ///
  /// - Parameter rows: those of the place, if they are open.
  static func unlock(
    _ place: VaultPlace, over rows: sending (any VaultRows)? = nil, with credentials: consuming Credentials,
    options: VaultOptions = .withoutPins, trust: Trust = .everyAnchor,
    clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    let mirror = if place.isMirror, let pins = options.pins { try PinWatch(pins, ofMirrorAt: place) } else { PinWatch?.none }
    let database = if let rows { rows } else { try place.rowsToRead(isBrief: options.isBrief) }
    return try unlock(
      over: database, with: credentials, options: options, trust: trust, mirror: mirror, clock: clock)
  }

  /// - Parameter mirror: nil for a vault that is no mirror.
  static func unlock(
    over database: any VaultRows, with credentials: consuming Credentials, options: VaultOptions, trust: Trust,
    mirror: PinWatch? = nil, clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> OpenVault {
    guard trust != .pinIsAccepted || !database.isStandby() else {
      throw StoreError(
        .unreachable, "a standby may lag, so its state is not accepted", place: database.place.description,
        cure: "accept the vault at the primary: leave target_session_attrs out of the place")
    }
    try database.expect(.header)
    let (tried, version) = try database.read { () throws(StoreError) in
      (try StoredParts.readHeader(database), try database.dataVersion())
    }
    try mirror?.checkMirrored(tried.header.vault)
    let pins = if let mirror { mirror } else { try watch(tried.header, at: database.place, options, trust) }
    let invitations =
      try trust == .caller
      ? []
      : options.invitations(
        to: tried.header.vault, at: database.place, and: credentials.invitations())
    var inputs = try trust == .caller ? nil : credentials.passphraseInputs()
    var slot: OpenSlot? = try search(tried.header, with: credentials, options, database.place)
    if trust != .caller {
      try requireKnown(slot?.kind, invitations, pins, options, trust, place: database.place)
    }
    if trust.asksPin { try pins?.read() }
    try database.expect(.digests)
    let vault = try database.read { () throws(StoreError) in
      // The header is unchanged if nobody has committed since.
      let (header, digest) = try database.dataVersion() == version ? tried : StoredParts.readHeader(database)
      guard var current = slot.take() else { throw StoredParts.missing("slot", database) }
      guard header.vault == tried.header.vault else {
        throw StoredParts.replaced(header.vault, tried.header.vault, database.place)
      }
      if digest != tried.digest { try current.reopen(in: header, place: database.place.description) }
      var own = current.anchor
      own?.mayBeTooOld = trust == .pinIsAccepted
      let anchors = invitations + (own.map { [$0] } ?? [])
      let pin = try current.kind == .recipient ? pins?.anchorOfRecipient() : pins?.anchor
      return try OpenVault(
        database: database, header: header, headerDigest: digest, slot: current, anchors: anchors, pin: pin,
        options: options, clock: clock)
    }
    do throws(StoreError) { try vault.begin(pins, trust) } catch { throw database.behind(error) }
    vault.slots.keep(inputs.take())
    return vault
  }

  /// The evidence that a vault is the right one.
  enum Trust {
    /// This machine's pin and every other anchor.
    case everyAnchor
    /// The same, for a vault that this machine must remember even if it is not writable.
    case joining
    /// Every anchor but this machine's pin: the user vouched for the vault.
    case pinIsAccepted
    /// The caller compares it with another vault.
    case caller

    var asksPin: Bool { self == .everyAnchor || self == .joining }
  }

  /// The vault's claim about its key, for a person to compare. Must agree with all that is known of the vault. Remembers
  /// nothing.
  static func claim(
    of place: VaultPlace, with credentials: consuming Credentials, _ options: VaultOptions
  ) throws(StoreError) -> Invitation {
    let database = try place.rowsToRead()
    let (header, digest) = try database.read { () throws(StoreError) in try StoredParts.readHeader(database) }
    let pins = try watch(header, at: database.place, options, .joining)
    let slot = try search(header, with: credentials, options, database.place)
    try pins?.read()
    let anchors = [slot.anchor, pins?.anchor].compactMap(\.self)
    let known = try KnownHeader(header, digest, slot: slot, proving: anchors, place: database.place)
    return Invitation(vault: VaultID(bytes: header.vault.bytes), key: known.keys.epochMark)
  }

  /// Passphrases are hashed one at a time.
  static func search(
    _ header: VaultHeader, with credentials: consuming Credentials, _ options: VaultOptions, _ place: VaultPlace
  ) throws(StoreError) -> OpenSlot {
    let hashes = SlotSearch.mayHashPassphrase(header, with: credentials)
    var credentials = Optional(credentials)
    return try PassphraseTurn.take(in: hashes ? options.lockFolder : nil) { () throws(StoreError) in
      try SlotSearch.open(
        header, with: credentials.take() ?? Credentials(), memory: MemoryLimit.available(), place: place.description)
    }
  }

  /// Called before any secret is used; nil if the options name no folder of pins.
  private static func watch(
    _ header: VaultHeader, at place: VaultPlace, _ options: VaultOptions, _ trust: Trust
  ) throws(StoreError) -> PinWatch? {
    try options.check(VaultID(bytes: header.vault.bytes), at: place)
    guard let folder = options.pins, trust != .caller, !place.isMirror else { return nil }
    return try PinWatch(folder, vault: header.vault, place: place, accepting: trust == .pinIsAccepted, joining: trust == .joining)
  }

  /// Anyone can make a vault with any id that a recipient's public key opens. A recipient therefore needs an invitation, or
  /// must have seen the vault at this place or give its id: two vaults that one identity opens could be swapped.
  static func requireKnown(
    _ kind: SlotKind?, _ invitations: [Anchor], _ pins: PinWatch?, _ options: VaultOptions, _ trust: Trust, place: VaultPlace
  ) throws(StoreError) {
    guard kind == .recipient, invitations.isEmpty else { return }
    var why = "this machine never saw it"
    if trust.asksPin, let pins, pins.knowsVault {
      guard !pins.knowsPlace, options.expected == nil else { return }
      why = "this machine never saw it at this place"
    }
    throw StoreError(
      .unproven, "a recipient's key opens this vault, \(why), and anyone could have created it", place: place.description,
      cure: "ask someone who has the vault for an invitation, and give it in VaultOptions.invitations",
      remedy: trust == .pinIsAccepted ? .acceptInvited : .expectVault)
  }

  private func begin(_ pins: PinWatch?, _ trust: Trust) throws(StoreError) {
    let (state, key) = (view.state, view.keys.epochMark)
    try options.check(generation: state.generation, at: view.place)
    if trust == .pinIsAccepted { try pins?.accept(state, key: key) } else { try check(pins) }
    if view.database.isUnwritableFile, trust == .everyAnchor { pins?.observe() }
    pins?.remember(state, key: key)
    pins?.noteCopy()
    if trust == .joining, let failure = pins?.failure { throw failure }
    begin(pins)
  }

  /// Compares the vault with the pin, unless an invitation ends that.
  private func check(_ pins: PinWatch?) throws(StoreError) {
    let (state, key) = (view.state, view.keys.epochMark)
    do throws(StoreError) { try pins?.check(state, key: key) } catch {
      // The invitation is an anchor: the vault's key descends from the one that it names, and from the pin's.
      guard let pins, let seen = pins.anchor?.key.epoch, [.rolledBack, .forked].contains(error.kind),
        let epoch = options.invitations.filter(\.endsOlderPins).map(\.epoch).max(), seen < epoch, !view.place.isMirror,
        !pins.isUnacceptedCopy, !view.database.isStandby()
      else { throw error }
      let generation = try pins.knownGeneration()
      try pins.accept(state, key: key, ending: epoch)
      Notices.note(
        "\(view.place): accepted because of the invitation, although \(error.what); changes up to generation \(generation) may "
          + "be lost")
    }
  }

  func watchCreated(in folder: FilePath?) {
    guard let folder else { return }
    do throws(StoreError) {
      let pins = try PinWatch(folder, vault: view.header.vault, place: view.place, accepting: true)
      try pins.accept(view.state, key: view.keys.epochMark)
      view.pins = pins
    } catch {
      // The vault is made, and no older copy of it can exist yet.
      Notices.warn("the vault was created, but its rollback pin could not be written: \(error.facts)")
    }
  }
}

extension VaultOptions {
  /// These options' invitations, all to `vault`, and an identity's invitations to it, because one identity has several
  /// vaults.
  ///
  /// - Throws: `.replaced` for an invitation of these options to another vault, before a secret is tried.
  func invitations(to vault: VaultSalt, at place: VaultPlace, and others: [Invitation]) throws(StoreError) -> [Anchor] {
    guard invitations.count <= Invitation.most else {
      throw StoreError(
        .tooLarge(limit: Invitation.most), "\(invitations.count) invitations were given",
        cure: "give at most \(Invitation.most), each of which is checked whenever the vault's key has changed")
    }
    do throws(FormatError) {
      var anchors: [Anchor] = []
      for invitation in invitations {
        let anchor = try invitation.anchor()
        guard anchor.vault == vault else { throw .contradicted(anchor, .replaced) }
        anchors.append(anchor)
      }
      for invitation in others where invitation.vault.bytes == vault.bytes { anchors.append(try invitation.anchor()) }
      return anchors
    } catch {
      throw error.storeError(place: place.description)
    }
  }

  /// Adds to a `.noVault` error that this machine knows a vault there.
  func missing(_ place: VaultPlace, _ error: StoreError) -> StoreError {
    guard error.kind == .noVault, let pins else { return error }
    var known: VaultID?
    // Unreadable pins change nothing: there is no vault.
    do throws(StoreError) { known = try place.expected(by: pins).first } catch {}
    guard let known else { return error }
    return StoreError(
      .noVault, "there is no vault, but \(known) was here", place: error.place, cure: "put it back, or restore a backup",
      remedy: .returnVault)
  }

  func check(_ found: VaultID, at place: VaultPlace) throws(StoreError) {
    let others = invitations.lazy.map(\.vault) + (expected.map { [$0] } ?? [])
    guard let expected = others.first(where: { $0 != found }) else { return }
    throw StoreError(
      .replaced, "vault \(found) is where \(expected) is expected", place: place.description,
      cure: "put the expected vault back, or expect this one if it is right")
  }

  /// Compares the unsealed epoch of a vault's file with the invitations.
  func check(epoch found: UInt64, at place: VaultPlace) throws(StoreError) {
    guard let newest = invitations.max(by: { $0.epoch < $1.epoch }), newest.epoch > found else { return }
    let anchor = try StoredParts.checked(place) { () throws(FormatError) in try newest.anchor() }
    throw FormatError.contradicted(anchor, .rolledBack(found: found)).storeError(place: place.description)
  }

  func check(generation found: UInt64, at place: VaultPlace) throws(StoreError) {
    guard let leastGeneration, found < leastGeneration else { return }
    throw StoreError(
      .rolledBack, "the vault is at generation \(found), older than the \(leastGeneration) that is expected",
      place: place.description, cure: "put the newer vault back, or expect less if the old one is right")
  }
}
