internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization
internal import SystemPackage
internal import CofferTestSupport

/// Possible disk states after a power loss: of unsynchronized data any part, in units of 512 bytes and in any order. A
/// store's effects are lost repeatedly in different ways.
enum PowerLoss {
  enum Effect {
    case create(String, file: Int)
    case write(file: Int, offset: Int, [UInt8])
    case synchronize(file: Int)
    case synchronizeFolder
    case rename(String, String)
    case exchange(String, String)
    case unlink(String)
    /// The store reported that so many steps are durable.
    case promised(Int)
    case began(Int)
  }

  static func run(_ folder: FilePath, seed: UInt64, trials: Int) throws {
    let recorder = Recorder()
    let place = folder.appending("life")
    let steps = life
    let present = Mutex<(step: Int, store: DefaultsStore?)>((0, nil))
    var calls = recorder.calls()
    calls.reached = { reached in
      // A write while the fold has no lock belongs to the next step.
      let (step, store) = present.withLock { $0 }
      guard reached == .listWritten, let tail = steps[step + 1].values["tail"] else { return }
      recorder.note(.began(step + 1))
      do { try store?.save(tail, for: "tail") } catch { exit(4) }
    }
    let store = try Scenario.open(place, "d", calls)
    for (number, step) in steps.enumerated() {
      present.withLock { $0 = (number, store) }
      recorder.note(.began(number))
      try step.run(store)
      if step.isPromise { recorder.note(.promised(number)) }
    }
    let effects = recorder.effects
    var random = Random(seed: seed), lost = 0
    let after = folder.appending("after")
    for trial in 0..<trials {
      let end = Int.random(in: 0...effects.count, using: &random)
      try? FileManager.default.removeItem(atPath: after.string)
      try FileManager.default.createDirectory(atPath: after.string, withIntermediateDirectories: true)
      let disk = Disk(effects[..<end], &random)
      for (name, bytes) in disk.files {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: after.appending(name).string, contents: Data(bytes), attributes: attributes)
        else { exit(4) }
      }
      if let what = complaint(after, steps, promised: disk.promised, began: disk.began) {
        lost += 1
        print("trial \(trial), power lost after effect \(end): \(what)")
      }
    }
    print("done \(trials), \(effects.count) effects, \(lost) lost")
  }

  // MARK: The life

  struct Step: Sendable {
    let values: [String: PlainForm?]
    let isPromise: Bool
    let run: @Sendable (DefaultsStore) throws -> Void
  }

  private static let life: [Step] = {
    var steps: [Step] = []
    for round in 0..<6 {
      for key in 0..<4 {
        let form = PlainForm.string(String(repeating: "\(round).\(key) ", count: 1 + 200 * key))
        let name = "key.\(key)", isRemoval = (round + key) % 5 == 4
        steps.append(
          Step(values: [name: isRemoval ? nil : form], isPromise: false) { try $0.save(isRemoval ? nil : form, for: name) })
      }
      if round % 2 == 1 { steps.append(pending("batch.\(round)")) }
      steps.append(Step(values: [:], isPromise: true) { try $0.synchronize() })
      steps.append(Step(values: ["tail": .integer(Int64(round))], isPromise: false) { _ in })
    }
    return steps
  }()

  /// A pending transaction of the other store, unknown here: each fold keeps it.
  private static func pending(_ name: String) -> Step {
    let form = PlainForm.string(String(repeating: name, count: 400))
    return Step(values: [name: form], isPromise: true) { store in
      var batch = Batch<Plain>()
      batch.writes[name] = .set(form)
      let decision = Decision(place: "x") { (_) throws(StoreError) in
        throw StoreError(.outcomeUnknown, "no answer", cure: "none")
      }
      do throws(StoreError) { try store.commit(batch, decision: decision) } catch {
        guard case .pending = error.kind else { throw error }
      }
    }
  }

  private static let committed = DecisionLookup(
    outcome: { (_, _) throws(StoreError) in .committed }, settle: { (_, _) throws(StoreError) in .committed },
    forget: { (_, _) throws(StoreError) in })

  /// The error found in the remaining files; nil if every promise is kept.
  private static func complaint(_ folder: FilePath, _ steps: [Step], promised: Int, began: Int) -> String? {
    do throws(StoreError) {
      let store = try Scenario.open(folder, "d", SystemCalls(), committed)
      for name in Set(steps.flatMap(\.values.keys)).sorted() {
        let all = steps.enumerated().compactMap { number, step in step.values[name].map { (number, $0) } }
        let kept = all.last { $0.0 <= promised }?.1
        let later = all.filter { $0.0 > promised && $0.0 <= began }.map(\.1)
        let found = try store.load(name)
        if found != kept ?? nil, !later.contains(where: { $0 == found }) { return "\(name) is not what was promised" }
      }
      try store.save(.bool(true), for: "next")
      try store.synchronize()
      return nil
    } catch { return promised < 0 ? nil : "\(error)" }
  }

  // MARK: The disk

  /// The files that remain of `effects`.
  private struct Disk {
    private(set) var files: [String: [UInt8]] = [:]
    private(set) var promised = -1, began = -1

    init(_ effects: ArraySlice<Effect>, _ random: inout Random) {
      var durable: [Int: [UInt8]] = [:], pending: [Int: [(Int, [UInt8])]] = [:]
      var names: [String: Int] = [:], pendingNames: [Effect] = []
      for effect in effects {
        switch effect {
        case .create, .rename, .exchange, .unlink: pendingNames.append(effect)
        case .write(let file, let offset, let bytes): pending[file, default: []].append((offset, bytes))
        case .synchronize(let file):
          for (offset, bytes) in pending.removeValue(forKey: file) ?? [] {
            Self.put(bytes, at: offset, &durable[file, default: []])
          }
        case .synchronizeFolder:
          for change in pendingNames { Self.apply(change, &names) }
          pendingNames = []
        case .promised(let step): promised = step
        case .began(let step): began = step
        }
      }
      // Names change in order, but how far they got is open.
      for change in pendingNames.prefix(Int.random(in: 0...pendingNames.count, using: &random)) { Self.apply(change, &names) }
      for (name, file) in names {
        var content = durable[file] ?? []
        for (offset, bytes) in (pending[file] ?? []).shuffled(using: &random) { Self.tear(bytes, at: offset, &content, &random) }
        files[name] = content
      }
      forgetBoot()
    }

    private static func apply(_ change: Effect, _ names: inout [String: Int]) {
      switch change {
      case .create(let name, let file): names[name] = file
      case .rename(let old, let new): names[new] = names.removeValue(forKey: old) ?? names[new]
      case .exchange(let one, let other): (names[one], names[other]) = (names[other], names[one])
      case .unlink(let name): names[name] = nil
      default: break
      }
    }

    private static func put(_ bytes: some Collection<UInt8>, at offset: Int, _ content: inout [UInt8]) {
      if content.count < offset + bytes.count { content += [UInt8](repeating: 0, count: offset + bytes.count - content.count) }
      content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    private static func tear(_ bytes: [UInt8], at offset: Int, _ content: inout [UInt8], _ random: inout Random) {
      var start = 0
      while start < bytes.count {
        let end = min(bytes.count, start + 512 - (offset + start) % 512)
        if Bool.random(using: &random) { put(bytes[start..<end], at: offset + start, &content) }
        start = end
      }
    }

    /// The next kernel boot differs.
    private mutating func forgetBoot() {
      guard var journal = files[".d.plist.coffer"], journal.count >= 32 else { return }
      journal.replaceSubrange(16..<32, with: [UInt8](repeating: 0xAA, count: 16))
      files[".d.plist.coffer"] = journal
    }
  }

  /// Records a store's changes to its files. The journal is written by calls, which are visible.
  private final class Recorder: Sendable {
    private struct State {
      var effects: [Effect] = []
      var files: [Int32: Int] = [:]
      var folders: Set<Int32> = []
      var byName: [String: Int] = [:]
      var last = 0
    }
    private let state = Mutex(State())

    var effects: [Effect] { state.withLock(\.effects) }
    func note(_ effect: Effect) { state.withLock { $0.effects.append(effect) } }

    func calls() -> SystemCalls {
      let real = FaultPoint.calls(isMapped: false)
      var calls = real
      calls.open = { path, flags, mode in
        let fd = real.open(path, flags, mode)
        if fd >= 0 { self.opened(fd, FilePath(path), flags) }
        return fd
      }
      // An unnamed file changes the folder only once it gets a name.
      calls.openUnnamed = { folder, mode in
        let fd = real.openUnnamed(folder, mode)
        if fd >= 0 {
          self.state.withLock { state in
            state.folders.remove(fd)
            state.last += 1
            state.files[fd] = state.last
          }
        }
        return fd
      }
      calls.name = { fd, path in
        let result = real.name(fd, path)
        self.state.withLock { state in
          guard result == 0, let file = state.files[fd] else { return }
          state.byName[Self.name(path)] = file
          state.effects.append(.create(Self.name(path), file: file))
        }
        return result
      }
      calls.allocate = { fd, offset, count in
        var status = stat()
        let begin = fstat(fd, &status) == 0 ? max(offset, Int(status.st_size)) : offset
        if begin < offset + count { self.wrote(fd, begin, [UInt8](repeating: 0, count: offset + count - begin)) }
        return real.allocate(fd, offset, count)
      }
      calls.write = { fd, bytes, offset in
        self.wrote(fd, offset, Array(bytes))
        return real.write(fd, bytes, offset)
      }
      calls.synchronize = { fd in
        self.state.withLock { state in
          if state.folders.contains(fd) { state.effects.append(.synchronizeFolder) }
          if let file = state.files[fd] { state.effects.append(.synchronize(file: file)) }
        }
        return 0
      }
      calls.rename = { old, new in
        self.renamed(old, new)
        return real.rename(old, new)
      }
      calls.renameAnew = { old, new in
        let result = real.renameAnew(old, new)
        if result == 0 { self.renamed(old, new) }
        return result
      }
      calls.exchange = { one, other in
        let result = real.exchange(one, other)
        guard result == 0 else { return result }
        self.state.withLock { state in
          let names = (Self.name(one), Self.name(other))
          (state.byName[names.0], state.byName[names.1]) = (state.byName[names.1], state.byName[names.0])
          state.effects.append(.exchange(names.0, names.1))
        }
        return 0
      }
      calls.unlink = { path in
        let result = real.unlink(path)
        if result == 0 {
          self.state.withLock { state in
            state.byName[Self.name(path)] = nil
            state.effects.append(.unlink(Self.name(path)))
          }
        }
        return result
      }
      return calls
    }

    private func renamed(_ old: String, _ new: String) {
      state.withLock { state in
        state.byName[Self.name(new)] = state.byName.removeValue(forKey: Self.name(old))
        state.effects.append(.rename(Self.name(old), Self.name(new)))
      }
    }

    private static func name(_ path: String) -> String { FilePath(path).lastComponent?.string ?? "" }

    private func opened(_ fd: Int32, _ path: FilePath, _ flags: Int32) {
      state.withLock { state in
        state.files[fd] = nil
        state.folders.remove(fd)
        if flags & O_DIRECTORY != 0 {
          state.folders.insert(fd)
          return
        }
        let name = path.lastComponent?.string ?? ""
        if let known = state.byName[name] { return state.files[fd] = known }
        state.last += 1
        state.byName[name] = state.last
        state.files[fd] = state.last
        state.effects.append(.create(name, file: state.last))
      }
    }

    private func wrote(_ fd: Int32, _ offset: Int, _ bytes: [UInt8]) {
      state.withLock { state in
        guard let file = state.files[fd] else { return }
        state.effects.append(.write(file: file, offset: offset, bytes))
      }
    }
  }
}
