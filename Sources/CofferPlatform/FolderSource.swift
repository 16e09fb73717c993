#if canImport(Darwin)
  internal import Dispatch
  internal import SystemPackage

  /// A folder and some of its files on macOS, by Dispatch sources: the folder's reports entries, a file's reports content.
  ///
  /// Untested. Only the sources' cancel handlers close descriptors.
  final class FolderSource: @unchecked Sendable {
    // Sendable: all mutable state changes on `queue`.
    private static let queue = DispatchQueue(label: "coffer.watch", qos: .utility)
    private let folder: FilePath
    private let names: Set<String>
    private let receive: @Sendable (DirectoryWatch.Notice) -> Void
    private var sources: [any DispatchSourceFileSystemObject] = []
    private var isOver = false

    static func start(
      _ folder: FilePath, names: Set<String>, _ receive: @escaping @Sendable (DirectoryWatch.Notice) -> Void
    ) throws(StoreError) -> Subscription {
      let fd = open(folder.string, O_EVTONLY | O_CLOEXEC | O_DIRECTORY)
      guard fd >= 0 else { throw DirectoryWatch.failure(errno, folder) }
      close(fd)
      let source = FolderSource(folder, names, receive)
      queue.async { source.open() }
      return Subscription { queue.async { source.stop() } }
    }

    private init(_ folder: FilePath, _ names: Set<String>, _ receive: @escaping @Sendable (DirectoryWatch.Notice) -> Void) {
      self.folder = folder
      self.names = names
      self.receive = receive
    }

    private func open() {
      guard !isOver else { return }
      sources.forEach { $0.cancel() }
      sources = ([folder] + names.map { folder.appending($0) }).compactMap(source)
      // Changes while nothing was open are not reported.
      receive(sources.isEmpty ? .lost : .changed)
    }

    private func source(_ path: FilePath) -> (any DispatchSourceFileSystemObject)? {
      let fd = Darwin.open(path.string, O_EVTONLY | O_CLOEXEC)
      guard fd >= 0 else { return nil }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: fd, eventMask: [.write, .extend, .attrib, .delete, .rename], queue: Self.queue)
      let isFolder = path == folder
      source.setCancelHandler { close(fd) }
      source.setEventHandler { [weak self] in
        guard let self, !self.isOver else { return }
        if isFolder || !source.data.isDisjoint(with: [.delete, .rename]) { self.open() } else { self.receive(.changed) }
      }
      source.activate()
      return source
    }

    private func stop() {
      isOver = true
      sources.forEach { $0.cancel() }
      sources = []
    }
  }
#endif
