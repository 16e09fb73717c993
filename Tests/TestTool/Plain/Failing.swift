internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage

enum Failing {
  static func run(_ folder: FilePath, _ rest: [String]) throws {
    let faults: [(String, FaultPoint.Fault)] = [
      ("ENOSPC", .failure(ENOSPC)), ("EIO", .failure(EIO)), ("EINTR", .failure(EINTR)), ("short", .half),
    ]
    let stride = Int(rest[0]) ?? 1
    var runs = 0
    for isMapped in [true, false] {
      for (name, fault) in faults {
        var number = 1
        while true {
          let place = folder.appending("\(name)-\(isMapped)-\(number)")
          let point = FaultPoint(at: number, fault)
          try live(place, point, isMapped, "\(name) at call \(number)\(isMapped ? "" : " by calls")")
          try FileManager.default.removeItem(atPath: place.string)
          guard point.cameToPass else { break }
          runs += 1
          number += stride
        }
      }
    }
    print("runs \(runs)")
  }

  private static func patient(_ isMapped: Bool) -> SystemCalls {
    var calls = FaultPoint.calls(isMapped: isMapped)
    calls.synchronize = { _ in 0 }
    return calls
  }

  private static func live(_ folder: FilePath, _ point: FaultPoint, _ isMapped: Bool, _ what: String) throws {
    let calls = point.wrapping(patient(isMapped))
    var store: DefaultsStore
    do { store = try Scenario.open(folder, "d", calls) } catch { store = try Scenario.open(folder, "d", calls) }
    var before: Scenario.Values = [:]
    for step in Scenario.steps {
      do { try step.run(store) } catch {
        guard error is StoreError else { return print("\(what), \(step.name): \(error)") }
        let kept = try Scenario.values(in: Scenario.open(folder, "d"))
        if kept != before, kept != step.after { print("\(what), \(step.name): others read \(kept.keys.sorted())") }
        if step.name == "close" { store = try Scenario.open(folder, "d", calls) }
        try step.run(store)
      }
      if step.name != "close", try Scenario.values(in: store) != step.after { print("\(what), \(step.name): reads otherwise") }
      before = step.after
    }
    if try Scenario.values(in: Scenario.open(folder, "d")) != before { print("\(what): lost at the end") }
  }
}
