internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// Threads of one process that read, write, fold and observe in parallel; also run under ThreadSanitizer.
enum Threads {
  static func run(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    let count = Int(rest[0]) ?? 0
    let subscription = try store.changes.subscribe { _ in }
    defer { subscription.cancel() }
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      do {
        for number in 0..<count {
          if thread < 4 {
            guard let form = try store.load("t\(number % 8)") else { continue }
            guard case .integer = form else { print("no number"); continue }
          } else {
            try store.save(.integer(Int64(number)), for: "t\((number + thread) % 8)")
            try store.update("sum") { (old) throws(StoreError) in
              guard case .integer(let sum)? = old else { return .integer(1) }
              return .integer(sum + 1)
            }
            if number % 100 == 0 { try store.synchronize() }
          }
        }
      } catch { print("error: \(error)") }
    }
    guard try store.load("sum") == .integer(Int64(2 * count)) else { return print("updates were lost") }
    print("done \(count)")
  }
}
