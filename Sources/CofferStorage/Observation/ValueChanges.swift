public import CofferPlatform

/// The values of some keys over time, returned by ``StorageRouter/changes(of:)``.
///
/// ```swift
/// for await theme in try app.changes(of: keys.theme) { show(try theme.get()) }
/// ```
///
/// The sequence begins with the present values. A new element follows when they differ from the last one. Values are read
/// when the loop asks, so a slow loop gets the newest and skips those in between. If they cannot be read, the element is the
/// error, and the sequence goes on, because a locked vault may be unlocked.
///
/// Plain values are compared as values if they are `Equatable`, else by their stored forms. Vault values are compared by the
/// item's version, so that no secret is kept for it: an item that is stored again counts as changed.
///
/// The sequence ends when the router or a store of its keys is closed, and when the task is cancelled. It serves one loop,
/// and keeps its router alive.
public struct ValueChanges<Value: Sendable>: AsyncSequence, Sendable {
  /// The values, or the error of their read.
  public typealias Element = Result<Value, StoreError>
  /// The sequence never fails.
  public typealias Failure = Never

  struct Look: Sendable {
    let element: Element
    let sight: Sight
  }

  let source: ValueSource
  let look: @Sendable () -> Look

  /// An iterator, which continues where the sequence's other iterators stopped.
  public func makeAsyncIterator() -> Iterator { Iterator(source: source, look: look) }

  /// Waits for values and reads them.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: ValueSource
    private let look: @Sendable () -> Look
    private var signals: AsyncStream<Void>.Iterator
    private var last: Sight?

    init(source: ValueSource, look: @escaping @Sendable () -> Look) {
      self.source = source
      self.look = look
      signals = source.signals.makeAsyncIterator()
    }

    /// The next element; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
      while await signals.next(isolation: actor) != nil {
        let found = look()
        if found.sight.isEnd { return nil }
        if let last, last.isSame(as: found.sight) { continue }
        last = found.sight
        return found.element
      }
      return nil
    }
  }
}

extension ValueChanges {
  /// A sequence of transformed elements. `transform` also gets a closure to call when its result may have changed.
  package func map<Other>(
    _ transform:
      @escaping @Sendable (Element, Sight, _ again: @escaping @Sendable () -> Void)
      -> (ValueChanges<Other>.Element, Sight)
  ) -> ValueChanges<Other> {
    ValueChanges<Other>(source: source) { [look, weak source] in
      let found = look()
      let (element, sight) = transform(found.element, found.sight) { [weak source] in source?.signal() }
      return ValueChanges<Other>.Look(element: element, sight: sight)
    }
  }
}
