public import CofferPlatform
public import Testing

/// The kind of the error that `body` throws; nil if none. An error of another type is recorded as an issue.
public func kind(at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) -> StoreError.Kind? {
  do { try body() } catch let error as StoreError { return error.kind } catch {
    Issue.record(error, sourceLocation: location)
  }
  return nil
}

/// The error that `body` throws, which must be of `kind` and contain a cure.
@discardableResult
public func expect(
  _ kind: StoreError.Kind, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> StoreError {
  let error = try #require(throws: StoreError.self, sourceLocation: location) { try body() }
  #expect(error.kind == kind, "\(error)", sourceLocation: location)
  #expect(!error.cure.isEmpty, sourceLocation: location)
  return error
}
