internal import Coffer
internal import CofferStorage
internal import CofferTestSupport
internal import CofferValues
internal import Dispatch
internal import Testing

@Suite struct CacheStoreTests {
  @Test func `the limit holds at each moment, however many threads write`() throws {
    let cache = CacheStore<Plain>(limit: 4), tooMany = Collected<[String]>()
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      do {
        for number in 0..<1000 {
          try cache.save(.integer(Int64(number)), for: "\((number + thread) % 9)")
          let names = try cache.names()
          if names.count > 4 { tooMany.add(names) }
        }
      } catch { Issue.record(error) }
    }
    #expect(tooMany.all.isEmpty)
    #expect(try cache.names().count == 4)
  }

  @Test func `names that Unicode holds for one count as two in a cache of secrets, and each is evicted by itself`() throws {
    let cache = CacheStore<Vault>(limit: 2)
    let names = ["\u{E9}", "e\u{301}", "third"]
    for name in names { try cache.save(SecretForm(Bench.secret("v")), for: name) }
    #expect(try names.map { try cache.contains($0) } == [false, true, true])
  }

  @Test func `a call of the cache inside its own update throws`() throws {
    let cache = CacheStore<Plain>(limit: 2)
    try cache.save(.integer(1), for: "a")
    for call in ["load", "names", "save"] {
      try expect(.reentrant) {
        try cache.update("b") { (old) throws(StoreError) in
          switch call {
          case "load": _ = try cache.load("a")
          case "names": _ = try cache.names()
          default: try cache.save(nil, for: "a")
          }
          return old
        }
      }
    }
  }
}
