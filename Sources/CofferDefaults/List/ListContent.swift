internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

struct ListContent {
  let values: [String: PlainForm]
  let encoding: PropertyList.Encoding
  let fingerprint: ListFingerprint
  /// False if a later change could have the same fingerprint, because it was too recent.
  let isSettled: Bool

  /// A missing file is an empty XML list.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` when the file is no property list, `.denied` when it may not be read.
  static func read(_ path: FilePath, _ calls: SystemCalls) throws(StoreError) -> ListContent {
    let fd = calls.open(path.string, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    if fd == -ENOENT { return ListContent(values: [:], encoding: .xml, fingerprint: .none, isSettled: true) }
    guard fd >= 0 else { throw StoreError(errno: -fd, "open the property list", place: path) }
    defer { close(fd) }
    let status = try FileStatus(of: fd, place: path)
    guard status.isRegular else {
      throw StoreError(
        .denied, "the property list is not a regular file", place: path.string, cure: "remove what is in its place")
    }
    guard status.size <= Budget.file else { throw damaged(path, "the file has \(status.size) bytes, over \(Budget.file)") }
    let data = try contents(fd, status.size, path, calls)
    let (values, encoding): ([String: PlainForm], PropertyList.Encoding)
    do throws(PropertyList.Failure) { (values, encoding) = try PropertyList.decode(data) } catch {
      throw damaged(path, error.what)
    }
    return ListContent(
      values: values, encoding: encoding, fingerprint: ListFingerprint(status),
      // The next writer stamps it with the present time, not a future one.
      isSettled: CoarseClock.age(of: status.modified).map { $0 > CoarseClock.timestampGrain } ?? true)
  }

  /// Gives a writer that rewrites the list in place, as Foundation does, time to finish.
  static func readPatiently(_ path: FilePath, _ calls: SystemCalls) throws(StoreError) -> ListContent {
    for _ in 1..<attempts {
      do { return try read(path, calls) } catch {
        guard case .damaged = error.kind, try FileStatus(at: path).map(isBeingWritten) ?? true else { throw error }
        try Waiting.refuse(at: path.string)
        pause()
      }
    }
    return try read(path, calls)
  }

  static func isBeingWritten(_ status: FileStatus) -> Bool {
    CoarseClock.age(of: status.modified).map { $0 < writingNanoseconds } ?? false
  }

  static func pause() { DetachedThread.sleep(pauseNanoseconds) }

  /// A program that stalls this long during a rewrite may as well have died.
  private static let writingNanoseconds: Int64 = 1_000_000_000
  /// 80 ms in all: Foundation rewrites 10 000 keys in place within a few.
  static let attempts = 5
  private static let pauseNanoseconds: UInt64 = 20_000_000

  private static func contents(_ fd: Int32, _ size: Int, _ path: FilePath, _ calls: SystemCalls) throws(StoreError) -> Data {
    var data = Data(count: size)
    var done = 0
    while done < size {
      var count = 0
      data.withUnsafeMutableBytes { buffer in
        count = calls.read(fd, UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), done)
      }
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the property list", place: path) }
      if count == 0 { return data.prefix(done) }  // Shortened meanwhile: its new fingerprint brings us back.
      done += count
    }
    return data
  }

  private static func damaged(_ path: FilePath, _ what: String) -> StoreError {
    StoreError(
      .damaged, what, place: path.string,
      cure: "repair or restore the file, or open the domain with a damage policy; nothing was changed")
  }
}
