import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

/// A process that creates a vault with its key file is killed at a system call, or the call fails, once or from then on.
///
/// Short by default; at every call with `COFFER_LONG_TESTS`.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct NewVaultCampaign {
  private static let step = "init-with-key-file"

  @Test(arguments: [TracedTool.Fault.kill, .inputOutput, .noSpace])
  func `no vault is left without its key file, and a second call makes both or says what is there`(fault: TracedTool.Fault) throws
  {
    try Tracing.need()
    let calls = fault == .kill ? TracedTool.calls : TracedTool.spending
    let counted = try TemporaryVault()
    let all = try withExtendedLifetime(counted) { try TracedTool(counted, Self.step).points(of: calls) }
    let points = Campaign.isLong ? all : all.enumerated().filter { $0.offset % 7 == 6 }.map(\.element)
    var made = 0, keyFilesAlone = 0
    for point in points {
      let place = try TemporaryVault()
      let tool = TracedTool(place, Self.step), key = place.folder.appending("key")
      let end = try tool.run(fault, at: point, of: fault == .noSpace ? calls : nil)
      let context = Comment(rawValue: "\(end.call ?? "no call"): \(end.output)")
      let again = { try tool.run(TracedTool.path, tool.arguments) }
      if access(place.path.string, F_OK) == 0 {
        made += 1
        _ = try LockedVault.open(place.path).unlock(with: Credentials(keyFileAt: key)).verify()
        #expect(try again().output.contains("alreadyExists"), context)
        continue
      }
      #expect(!end.isAcknowledged, context)
      if access(key.string, F_OK) == 0 {
        keyFilesAlone += 1
        #expect(end.wasSignalled || end.output.contains("keep the key file"), context)
        let content = try Data(contentsOf: URL(filePath: key.string))
        #expect(try again().output.contains("delete the file"), context)
        #expect(try Data(contentsOf: URL(filePath: key.string)) == content, context)
        unlink(key.string)
      }
      #expect(try again().isAcknowledged, context)
    }
    print("\(points.count) of \(all.count) calls, \(fault): \(made) vaults, \(keyFilesAlone) key files alone")
    #expect(fault != .kill || keyFilesAlone > 0)
  }
}
