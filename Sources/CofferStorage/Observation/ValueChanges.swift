public import CofferPlatform

/// The values of some keys over time: what ``StorageRouter/changes(of:)`` returns.
///
/// ```swift
/// for await theme in try app.changes(of: keys.theme) { show(try theme.get()) }
/// ```
///
/// It begins with the present values. After that there is an element whenever they are others than those of the element before:
/// no two elements in a row are equal. Values are read when the loop asks for them, so a loop that is slower than the changes
/// gets the newest values and none of those in between. Where they cannot be read the element is the error, and the sequence goes
/// on: a vault that is locked may be unlocked.
///
/// Values of the plain store are compared as values where their type is `Equatable`, and else by what is stored. Those of the
/// vault are compared by the version of the item, so that no secret is kept for it: an item that is stored again is another.
///
/// It ends when the router or a store of its keys is closed, and when the task is cancelled. It is for one loop: ask for another
/// to have another. While it lives it keeps its router alive.
public struct ValueChanges<Value: Sendable>: AsyncSequence, Sendable {
  /// The values, or why they cannot be read.
  public typealias Element = Result<Value, StoreError>
  /// The sequence itself never fails.
  public typealias Failure = Never

  /// An element as it was read, with the sight that a later read is compared with.
  struct Look: Sendable {
    let element: Element
    let sight: Sight
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
  /// The sequence of what these elements mean. `transform` also gets what to call where they may mean something else by now.
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
