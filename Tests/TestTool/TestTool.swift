internal import CCofferTestSupport
internal import Dispatch
internal import Foundation

/// The other processes of all tests: `TestTool <verb> …`, with verbs for each kind of work.
@main
enum TestTool {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard let verb = words.first else { return refuse("a verb is missing") }
    let arguments = Array(words.dropFirst())
    if verb == "visible" { return become(arguments) }
    if try CrashStateVerbs.run(verb, arguments) { return }
    // The plain store comes last, as it takes all remaining words as verbs.
    if try VaultVerbs.run(verb, arguments) || TransactionVerbs.run(verb, arguments) || PlainVerbs.run(verb, arguments) { return }
    if try ofSession(verb, arguments) { return }
    refuse("\(verb) with \(arguments.count) arguments is no verb")
  }

  /// Only sessions wait for tasks. Others run without any, as a program without concurrency does.
  private static func ofSession(_ verb: String, _ arguments: [String]) throws -> Bool {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result = Result<Bool, any Error>.success(false)
    Task {
      do { result = .success(try await SessionVerbs.run(verb, arguments)) } catch { result = .failure(error) }
      done.signal()
    }
    done.wait()
    return try result.get()
  }

  /// Becomes the program `words`, which can no longer hide itself.
  private static func become(_ words: [String]) {
    guard coffer_test_stay_visible() else { return refuse("seccomp(2): \(String(cString: strerror(errno)))") }
    execv(words[0], words.map { strdup($0) } + [nil])
    refuse("\(words[0]): \(String(cString: strerror(errno)))")
  }

  private static func refuse(_ reason: String) {
    print("error: \(reason)")
    exit(64)
  }
}
