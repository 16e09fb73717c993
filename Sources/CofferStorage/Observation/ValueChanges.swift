/// The values of some keys over time: what ``StorageRouter/changes(of:)`` returns.
///
/// ```swift
/// for await theme in try app.changes(of: keys.theme) { show(try theme.get()) }
/// ```
///
/// It begins with the present values. After that there is an element whenever they are others than those of the element before.
/// Values are read when the loop asks for them, so a loop that is slower than the changes gets the newest values and none of those
/// in between. Where they cannot be read the element is the error, and the sequence goes on: a vault that is locked may be unlocked.
///
/// It ends when the router or a store of its keys is closed, and when the task is cancelled. It is for one loop: ask for another to
/// have another. While it lives it keeps its router alive.
public struct ValueChanges<Value: Sendable>: AsyncSequence, Sendable {
  /// The values, or why they cannot be read.
  public typealias Element = Result<Value, StoreError>
  /// The sequence itself never fails.
  public typealias Failure = Never

  /// What was read, and what tells it from what is read next.
  struct Look: Sendable {
    let element: Element
    let mark: Mark
  }

  /// Equal where a loop would see the same again.
  struct Mark: Sendable, Equatable {
    let plain: [String: PlainForm?]
    let vault: [String: RecordVersion]
    let failure: StoreError.Kind?
    let failedKey: String?
    /// Counts what was told apart in another way.
    var generation: UInt64 = 0
  }

  let source: ValueSource
  let look: @Sendable () -> Look

  /// An iterator, which takes its elements from where the sequence's other iterators left off.
  public func makeAsyncIterator() -> Iterator { Iterator(source: source, look: look) }

  /// Waits for values and reads them.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: ValueSource
    private let look: @Sendable () -> Look
    private var signals: AsyncStream<Void>.Iterator
    private var last: Mark?

    init(source: ValueSource, look: @escaping @Sendable () -> Look) {
      self.source = source
      self.look = look
      signals = source.signals.makeAsyncIterator()
    }

    /// The next element; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
      while await signals.next(isolation: actor) != nil {
        let found = look()
        if found.mark.failure == .closed { return nil }
        guard found.mark != last else { continue }
        last = found.mark
        return found.element
      }
      return nil
    }
  }
}
