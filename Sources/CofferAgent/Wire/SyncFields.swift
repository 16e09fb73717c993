internal import CofferClient
package import CofferPlatform
package import CofferSync
internal import FoundationEssentials

/// A sync by the agent. It has no way to accept anything that the machine would refuse.
struct SyncRequest: WireValue {
  let remote: String
  let options: SyncOptions

  func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(remote, options.machine, options.keptUntil, options.isTrial)
  }
  static func read(from fields: inout FrameReader) throws(StoreError) -> SyncRequest {
    let remote = try fields.text()
    var options = SyncOptions(machine: try fields.text())
    options.keptUntil = try fields.read()
    options.isTrial = try fields.flag()
    return SyncRequest(remote: remote, options: options)
  }
}

/// The end of a sync.
package struct SyncOutcome: Sendable, Equatable, Codable {
  package let remote: String
  /// Nil after an error.
  package var report: SyncReport?
  private var failure: WireError?

  init(_ remote: String, _ result: Result<SyncReport, StoreError>) {
    self.remote = remote
    switch result {
    case .success(let report): self.report = report
    case .failure(let error): failure = WireError(error)
    }
  }

  package var error: StoreError? { failure.map { StoreError($0) } }
}

extension [SyncOutcome] {
  var json: [UInt8] {
    get throws(StoreError) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .secondsSince1970
      do { return [UInt8](try encoder.encode(self)) } catch {
        throw StoreError(.unencodable, "the report of a sync could not be encoded", cure: "look at the log of the vault")
      }
    }
  }

  init(json: [UInt8]) throws(StoreError) {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    do { self = try decoder.decode(Self.self, from: Data(json)) } catch {
      throw FrameReader.malformed("it has no report of a sync")
    }
  }
}
