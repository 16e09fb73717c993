internal import Synchronization

/// Results of closures, in order; any thread may add to it.
public final class Collected<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  /// An empty record.
  public init() {}

  /// Adds `element` at the end.
  public func add(_ element: Element) { elements.withLock { $0.append(element) } }

  /// All elements.
  public var all: [Element] { elements.withLock { $0 } }
}
