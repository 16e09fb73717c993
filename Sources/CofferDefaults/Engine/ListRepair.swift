internal import CofferPlatform
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

struct ListRepair {
  let engine: DefaultsEngine

  /// True when a second attempt makes sense.
  @inline(never)
  func heal(after error: StoreError) throws(StoreError) -> Bool {
    guard isListDamage(error), !engine.isReadOnly, engine.options.withLock({ $0.damage }) != .fail else { return false }
    return try engine.foldingAlone(telling: false) { (journal) throws(StoreError) in try healLocked(after: error, journal) }
  }

  /// The caller holds the file's lock and the right to fold.
  func healLocked(after error: StoreError, _ journal: Journal) throws(StoreError) -> Bool {
    guard isListDamage(error) else { return false }
    let substitute: Data
    switch engine.options.withLock({ $0.damage }) {
    case .fail: return false
    case .restoreLastGood: substitute = try lastGood()
    case .startEmpty: substitute = emptyList()
    }
    // Another process may have repaired it before this one got the lock.
    do { _ = try ListContent.read(engine.files.list, engine.calls) } catch {
      try Quarantine.keep(engine.files.list, engine.calls)
      try replaceList(with: substitute)
    }
    try engine.state.withLock { (state) throws(StoreError) in
      state.suspect = nil
      for _ in 0..<4 {
        if try Replay(engine: engine).reload(&state, ListContent.read(engine.files.list, engine.calls)) { return }
      }
    }
    return true
  }

  private func replaceList(with data: Data) throws(StoreError) {
    let old = try FileStatus(at: engine.files.list)
    try AtomicFile(engine.files.list, calls: engine.calls).replace(
      with: data.bytes, mode: old?.permissions ?? 0o600, like: old)
  }

  private func isListDamage(_ error: StoreError) -> Bool {
    if case .damaged = error.kind { error.place == engine.files.list.string } else { false }
  }

  private func lastGood() throws(StoreError) -> Data {
    let content: ListContent
    do { content = try ListContent.read(engine.files.lastGood, engine.calls) } catch {
      throw StoreError(
        .damaged, "the property list is damaged, and so is its last good copy", place: engine.files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed", underlying: error)
    }
    guard content.fingerprint != .none else {
      throw StoreError(
        .damaged, "the property list is damaged, and there is no last good copy", place: engine.files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed")
    }
    return PropertyList.encode(content.values, as: content.encoding)
  }

  private func emptyList() -> Data { PropertyList.encode([:], as: .xml) }
}

enum Quarantine {
  private static let chunk = 1 << 16

  @discardableResult
  static func keep(_ file: FilePath, _ calls: SystemCalls) throws(StoreError) -> FilePath {
    let source = calls.open(file.string, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard source >= 0 else { throw StoreError(errno: -source, "open the damaged file", place: file) }
    defer { close(source) }
    let (target, place) = try create(beside: file, calls)
    defer { close(target) }
    do {
      try copy(source, target, place, calls)
      try AtomicFile.synchronizeFolder(of: place, calls)
    } catch {
      _ = calls.unlink(place.string)
      throw error
    }
    return place
  }

  private static func create(beside file: FilePath, _ calls: SystemCalls) throws(StoreError) -> (Int32, FilePath) {
    let stamp = Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: false).timeSeparator(.omitted))
    let name = "\(file.lastName ?? "").damaged-\(stamp)"
    var place = file.parent.appending(name)
    for number in 2...1000 {
      let fd = calls.open(place.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if fd >= 0 { return (fd, place) }
      guard fd == -EEXIST else { throw StoreError(errno: -fd, "keep the damaged file", place: place) }
      place = file.parent.appending("\(name)-\(number)")
    }
    throw StoreError(
      .alreadyExists, "there are a thousand damaged copies already", place: place.string, cure: "look into them, then remove them"
    )
  }

  private static func copy(_ source: Int32, _ target: Int32, _ place: FilePath, _ calls: SystemCalls) throws(StoreError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 8)
    defer { buffer.deallocate() }
    var offset = 0
    while true {
      let count = calls.read(source, buffer, offset)
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the damaged file", place: place) }
      if count == 0 { break }
      var done = 0
      while done < count {
        let written = calls.write(target, UnsafeRawBufferPointer(rebasing: buffer[done..<count]), offset + done)
        guard written > 0 else {
          throw StoreError(errno: written == 0 ? EIO : Int32(-written), "keep the damaged file", place: place)
        }
        done += written
      }
      offset += count
    }
    let result = calls.synchronize(target)
    guard result == 0 else { throw StoreError(errno: -result, "keep the damaged file", place: place) }
  }
}
