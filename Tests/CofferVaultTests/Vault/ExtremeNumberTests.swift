import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Numbers at the ends of their types, in every place of a file, sealed with the vault's key where needed. Each question
/// gets a right answer or an error; an overflow would end the process.
@Suite(.tags(.campaign), .wholeRun)
struct ExtremeNumberTests {
  static let most = FileCounter.most
  static let values: [UInt64] = [most - 1, most, most + 1, UInt64(Int64.max), 1 << 63, .max - 1, .max]

  struct Place: Sendable {
    let name: String
    /// Whether a number too large stops the vault from opening.
    let isReadByUnlocking: Bool
    let plant: @Sendable (OpenVault, UInt64) throws(StoreError) -> Void
  }

  static let places: [Place] = [
    Place(name: "generation", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.commit { $0.generation = number }
    },
    Place(name: "count", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.commit { $0.counts.records = number }
    },
    Place(name: "state's time", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.commit { $0.time = number }
    },
    Place(name: "place in the log", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.commit { $0.logSequence = number }
    },
    Place(name: "replica's generation", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.commit { state in
        let generation = state.generation
        state.generation = number
        state.note(.random())
        state.generation = generation
      }
    },
    Place(name: "epoch", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.plantHeader(epoch: number, rotated: 1)
    },
    Place(name: "header's time", isReadByUnlocking: true) { (vault, number) throws(StoreError) in
      try vault.plantHeader(epoch: vault.view.header.epoch, rotated: number)
    },
    Place(name: "revision", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      try vault.plantRecord { $0.revision = number }
    },
    Place(name: "created", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      try vault.plantRecord { $0.created = number }
    },
    Place(name: "modified", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      try vault.plantRecord { $0.modified = number }
    },
    Place(name: "expires", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      try vault.plantRecord { $0.expires = number }
    },
    Place(name: "log row's time", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      try vault.plantLog(LogEntry(.unlocked, time: number, user: 1, process: 1, program: ""))
    },
    Place(name: "first row of the log", isReadByUnlocking: false) { (vault, number) throws(StoreError) in
      let detail = LogEntry.Trim(first: number, head: .zero).detail
      try vault.plantLog(LogEntry(.trimmed, time: 1, user: 1, process: 1, program: "", detail: detail))
    },
  ]

  private static let questions: [(name: String, ask: @Sendable (TemporaryVault, ItemName) throws -> Void)] = [
    ("get", { place, name in _ = try place.unlock().get(name) }),
    ("list", { place, _ in _ = try place.unlock().list() }),
    ("status", { place, _ in _ = try place.unlock().status() }),
    ("log", { place, _ in _ = try place.unlock().log() }),
    ("length of the log", { place, _ in _ = try place.unlock().logLength() }),
    ("verify", { place, _ in _ = try place.unlock().verify() }),
    ("backup", { place, _ in _ = try LockedVault.open(place.path).backup(to: place.folder.appending("backup")) }),
    ("set", { place, name in _ = try place.unlock().set(form("new"), for: name) }),
    ("move", { place, name in _ = try place.unlock().apply([.move(name, to: ItemName(service: "moved"))]) }),
    ("delete", { place, name in _ = try place.unlock().remove(name) }),
    ("slot", { place, _ in _ = try place.unlock().addSlot(Credentials(keyFile: KeyFile.generate())) }),
    ("rotate", { place, _ in _ = try place.unlock().rotate() }),
    ("repair", { place, _ in _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials()) }),
    (
      "rebuild", { place, _ in _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials(), rebuilding: true) }
    ),
    (
      "restore",
      { place, _ in
        _ = try RestorableBackup(place.folder.appending("backup"), toRestoreAt: place.path).restore(
          with: TemporaryVault.credentials())
      }
    ),
  ]

  @Test func `no number in a vault ends the process, and one beyond the limit is damage`() throws {
    let name = try ItemName(service: "svc", account: "a")
    var tally = Tally()
    let cases = Self.places.flatMap { place in Self.values.map { (place, $0) } }
    // Cases that once ended the process.
    let short = cases.filter { place, value in
      ["generation", "revision", "place in the log"].contains(place.name) && value == Self.most
    }
    for (place, value) in Campaign.isLong ? cases : short {
      let temporary = try TemporaryVault()
      let vault = try temporary.create()
      try vault.set(form("value"), for: name)
      _ = try vault.lock()
      let open = try OpenVault.unlock(.file(temporary.path), with: TemporaryVault.credentials())
      try place.plant(open, value)
      open.view.database.close()
      let opened = kind { _ = try temporary.unlock() }
      // No replica has made a future commit.
      let most = place.name == "replica's generation" ? 0 : Self.most
      #expect((opened == .damaged) == (place.isReadByUnlocking && value > most), "\(place.name) \(value)")
      for question in Self.questions {
        let outcome = kind { try question.ask(temporary, name) }
        tally.add(
          "\(place.name)", outcome.map { "\($0)" } ?? "answered",
          // A refused backup cannot be restored.
          allowed: [
            "answered", "damaged", "tampered", "expired", "clockBehind", "notFound", "noVault", "rolledBack", "alreadyExists",
            "io(2)",
          ], "\(question.name) with \(value)")
      }
    }
    tally.report("extreme numbers in a vault")
  }

  @Test(arguments: [most, most + 1, .max]) func `nor does one in a pin`(number: UInt64) throws {
    let (questions, name) = (Self.questions, try ItemName(service: "svc", account: "a"))
    for field in 0..<3 {
      let pinned = try PinnedVault(writes: 1)
      _ = try pinned.locked.backup(to: pinned.place.folder.appending("backup"))
      let pin = try pinned.pin("id-")
      var record = try pinned.content(pin).withUnsafeBytes {
        try PinRecord(decoding: UnsafeRawBufferPointer(rebasing: $0[..<160]))
      }
      switch field {
      case 0: record.seen = .init(generation: number, commit: .random())
      case 1: record.own = .init(generation: number, commit: .random())
      default: record.key = .some(number)
      }
      var content = Data(record.encoded())
      content.append(Data(repeating: 0, count: 4096 - content.count))
      try pinned.put(content + Data(record.encoded()), pin)
      let refusal = try pinned.refusal()
      let expected: [StoreError.Kind] = number > Self.most ? [.damaged] : [.rolledBack, .forked]
      #expect(refusal.map(expected.contains) ?? false, "\(field): \(refusal.map { "\($0)" } ?? "none")")
      #expect(
        kind { _ = try pinned.locked.repair(with: TemporaryVault.credentials(), rebuilding: true) } != nil || field != 0)
      for (title, ask) in questions where title == "restore" {
        #expect(kind { try ask(pinned.place, name) } == nil, "without pins nothing is asked of them")
      }
      _ = kind {
        _ = try RestorableBackup(pinned.place.folder.appending("backup"), toRestoreAt: pinned.place.path)
          .restore(with: TemporaryVault.credentials(), options: pinned.options)
      }
    }
  }

  @Test(arguments: ["generation", "epoch"])
  func `the last number that can be is told, and a restore on purpose starts above the backup`(
    what: String
  ) throws {
    let pinned = try PinnedVault()
    let backup = pinned.place.folder.appending("backup")
    _ = try pinned.locked.backup(to: backup)
    let open = try OpenVault.unlock(.file(pinned.place.path), with: TemporaryVault.credentials(), options: pinned.options)
    let place = try #require(Self.places.first { $0.name == what })
    try place.plant(open, Self.most)
    open.view.database.close()
    do {
      let vault = try pinned.unlock()
      let failure = try expect(.damaged) {
        if what == "epoch" { try vault.rotate() } else { try vault.set(form("x"), for: pinned.name) }
      }
      #expect(failure.what.contains("has reached its maximum") && failure.remedy == .leaveVault)
      let target = pinned.place.folder.appending("new.sqlite")
      #expect(try vault.export(to: target, with: TemporaryVault.credentials()) == 1)
    }
    func restore(_ accepting: Bool) throws -> RestoreReport {
      try RestorableBackup(backup, toRestoreAt: pinned.place.path).restore(
        with: TemporaryVault.credentials(), options: pinned.options, acceptingOlderKey: accepting)
    }
    #expect(kind { _ = try restore(false) } == .rolledBack)
    #expect(try restore(true).generation < 100)
    let vault = try pinned.unlock()
    try vault.set(form("again"), for: pinned.name)
    try vault.rotate()
    #expect(try vault.verify().items == 1 && pinned.refusal() == nil)
  }

  @Test(arguments: ["9223372036854775807", "4611686018427387905", "4611686018427387904", "-1", "0"])
  func `nor does a row's own number in the log`(number: String) throws {
    let place = try TemporaryVault()
    _ = try place.create().lock()
    try place.attack("UPDATE log SET seq=\(number)")
    for question in Self.questions
    where Campaign.isLong || ["log", "length of the log", "verify", "set", "rotate"].contains(question.name) {
      let outcome = kind { try question.ask(place, ItemName(service: "svc")) }
      #expect([nil, .damaged, .tampered, .notFound, .alreadyExists].contains(outcome), "\(question.name)")
    }
  }

  @Test func `a row of number 0 is not counted below when a log is shortened`() throws {
    let place = try TemporaryVault()
    _ = try place.create().lock()
    let vault = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    vault.log.longest = 4
    try place.attack("INSERT INTO log VALUES (0, zeroblob(32))")
    for number in 0..<10 {
      let value = try form("\(number)")
      _ = try vault.write { (_, change) throws(StoreError) in
        try vault.items.put(value, for: ItemName(service: "svc"), if: .always, &change)
      }
    }
    #expect(vault.view.state.generation == 11)
  }

  @Test func `times that a date can have and a vault cannot are brought to the limit, and are read again`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let name = try ItemName(service: "svc")
    for date in [Date.distantFuture, Date(timeIntervalSince1970: 1e300), Date(timeIntervalSince1970: 9.1e15)] {
      try vault.set(form("value", ItemMetadata(expires: date)), for: name)
      #expect(text(try vault.get(name)) == "value")
    }
  }
}

extension OpenVault {
  fileprivate func commit(_ edit: (inout VaultState) -> Void) throws(StoreError) {
    try view.database.write { () throws(StoreError) in
      var state = view.state
      edit(&state)
      try StoredParts.put(state, view.header, view.headerDigest, view.database, view.keys)
    }
  }

  fileprivate func plantHeader(epoch: UInt64, rotated: UInt64) throws(StoreError) {
    try view.database.write { () throws(StoreError) in
      let keys = try view.checked { () throws(FormatError) in
        try Subkeys(of: view.slot.key, vault: view.header.vault, epoch: epoch)
      }
      let next = try slots.nextHeader(SlotPlan(), key: view.slot.key, keys, rotated: rotated)
      let encoded = next.encoded()
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
        try view.database.putHeader(.first, bytes)
        try view.database.putHeader(.second, bytes)
      }
      try StoredParts.put(view.state, next, PlainHash.digest(encoded), view.database, view.keys)
    }
  }

  fileprivate func plantRecord(_ edit: (inout RecordMeta) -> Void) throws(StoreError) {
    var meta = RecordMeta(revision: 1, service: "svc", account: "a", created: 1, modified: 1)
    edit(&meta)
    let planted = meta
    try write { (_, change) throws(StoreError) in try plant(planted, [UInt8]("value".utf8), &change) }
  }

  fileprivate func plantLog(_ entry: LogEntry) throws(StoreError) {
    try view.database.write { () throws(StoreError) in
      var state = view.state
      try log.append(entry, to: &state)
      try StoredParts.put(state, view.header, view.headerDigest, view.database, view.keys)
    }
  }
}
