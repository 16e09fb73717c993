public import CofferPlatform

extension Store where R == Plain {
  /// Whether any layer has a value for `name`.
  public func contains(_ name: String) throws(StoreError) -> Bool { try load(name) != nil }
}

// The typed core over one store. A router adds the choice of the store and the declared keys.
extension Store {
  /// The value of `key`. Only a missing value reads as the default or nil.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.undecodable`, `.expired`, and the store's own failures.
  @inlinable
  public func value<V>(for key: StorageKey<V, R>) throws(StoreError) -> V {
    do { return try key.read(load(key.name)) } catch { throw told(error, of: key.name) }
  }

  /// Stores `value`, or removes the stored value if it is nil. A value that cannot be encoded leaves the stored one
  /// unchanged.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unencodable`, `.tooLarge`, and the store's own failures. Nothing has then
  ///   changed, except after `.outcomeUnknown`.
  @inlinable
  public func set<V>(_ value: V, for key: StorageKey<V, R>) throws(StoreError) {
    let form = try key.form(of: value)
    do { try save(form, for: key.name) } catch { throw error.about(key: key.name) }
  }

  /// Changes the stored value in place, atomically across processes. `body` runs under the store's lock.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or the error of `body`. Nothing has then changed, except after
  ///   `.outcomeUnknown`.
  public func update<V>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws {
    if let failure = try updating(key, body) { throw failure }
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  public func update<V>(_ key: StorageKey<V, R>, _ body: (inout V) throws(StoreError) -> Void) throws(StoreError) {
    if let failure = try updating(key, body) { throw StoreError.thrown(failure) }
  }

  /// The error of `body`.
  func updating<V>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws(StoreError) -> (any Error)? {
    var refusal: (any Error)?
    do {
      try update(key.name) { (form) throws(StoreError) in
        refusal = nil  // A store may run this again.
        var value = try key.read(form)
        do { try body(&value) } catch {
          refusal = error
          throw StoreError(.closureThrew, "the update closure threw", key: key.name, cure: "see the underlying error")
        }
        return try key.form(of: value)
      }
    } catch {
      guard let refusal else { throw error.about(key: key.name) }
      return refusal
    }
    return nil
  }
}

extension Store {
  /// Adds the source of an override that is no value of the key's type.
  @usableFromInline
  func told(_ error: StoreError, of name: String) -> StoreError {
    guard error.isOfOverride, error.place == nil else { return error.about(key: name) }
    var source: String?
    // A failure of this read must not hide the current error.
    do { source = try load([name])[0].source } catch {}
    return StoreError(
      error.kind, error.what, key: error.key ?? name, place: source, cure: error.cure, underlying: error.underlying)
  }
}

extension StoreError {
  /// The error of a closure that may throw only a `StoreError`.
  static func thrown(_ failure: any Error) -> StoreError {
    failure as? StoreError
      ?? StoreError(.closureThrew, "the closure threw", cure: "see the underlying error", underlying: failure)
  }

  fileprivate var isOfOverride: Bool { kind == .undecodable(stored: PlainForm.argument("").kindName) }
}
