import Testing

@testable import CofferVault

@Suite struct MemoryLimitTests {
  private let mebibyte = 1 << 20

  @Test func `the least limit counts, less the reserve`() {
    func limit(_ available: Int?, _ groups: [(String, String)] = [], _ space: Int? = nil, _ mapped: Int = 0) -> Int {
      MemoryLimit.limit(
        available: available, groups: groups.map { (max: $0.0, current: $0.1) }, addressSpace: space, mapped: mapped)
    }
    #expect(limit(1000 * mebibyte) == 968 * mebibyte)
    #expect(limit(1000 * mebibyte, [("max\n", "5\n"), ("\(300 * mebibyte)\n", "\(100 * mebibyte)\n")]) == 168 * mebibyte)
    #expect(limit(1000 * mebibyte, [("", ""), ("max", "1")], 500 * mebibyte, 100 * mebibyte) == 368 * mebibyte)
    #expect(limit(10 * mebibyte) == 0)
    #expect(limit(1000 * mebibyte, [("5", "900")]) == 0)
    #expect(limit(nil) == .max)
    #expect(limit(nil, [], 100 * mebibyte) == 68 * mebibyte)
  }

  @Test func `reads what the kernel writes`() {
    let meminfo = "MemTotal:       24683520 kB\nMemFree:        23790000 kB\nMemAvailable:   24313856 kB\nBuffers: 1 kB\n"
    #expect(MemoryLimit.available(meminfo: meminfo) == 24_313_856 * 1024)
    #expect(MemoryLimit.available(meminfo: "MemTotal: 1 kB\n") == nil)
    #expect(MemoryLimit.mapped(status: "Name:\tcoffer\nVmPeak:\t  200 kB\nVmSize:\t  120 kB\n") == 120 * 1024)
    let limits =
      "Limit                     Soft Limit           Hard Limit           Units\nMax address space         %              unlimited            bytes\n"
    #expect(MemoryLimit.addressSpace(limits: limits.replacing("%", with: "unlimited")) == nil)
    #expect(MemoryLimit.addressSpace(limits: limits.replacing("%", with: "1073741824")) == 1 << 30)
    #expect(MemoryLimit.group("8:memory:/old\n0::/user.slice/app.scope\n") == "/user.slice/app.scope")
    #expect(MemoryLimit.group("8:memory:/old\n") == nil)
    #expect(
      MemoryLimit.folders("/user.slice/app.scope") == [
        "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/user.slice/app.scope",
      ])
    #expect(MemoryLimit.folders("/") == ["/sys/fs/cgroup"])
  }

  @Test func `this machine has some memory`() {
    #expect(MemoryLimit.available() > 0)
    #if os(Linux)
      #expect(MemoryLimit.available() < .max)
    #endif
  }
}
