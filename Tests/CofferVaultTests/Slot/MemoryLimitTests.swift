import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct MemoryLimitTests {
  private let mebibyte = 1 << 20

  @Test func `the least limit counts, less the reserve`() {
    func limit(_ available: Int?, _ groups: [(String, String)] = [], _ space: Int? = nil, _ mapped: Int = 0) -> Int {
      MemoryLimit.limit(
        available: available,
        groups: groups.compactMap { ControlGroup(limit: $0.0, usage: $0.1, stat: "", idle: "inactive_file") },
        addressSpace: space, mapped: mapped)
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
  }

  @Test func `both kinds of control groups are found, with all above them`() {
    #expect(
      ControlGroup.hierarchies("8:cpu,memory:/docker/a:b\n3:cpuset:/\n1:name=systemd:/x\n0::/user.slice/app.scope\n") == [
        ControlGroup.Hierarchy(
          version: .first,
          folders: ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/docker", "/sys/fs/cgroup/memory/docker/a:b"]),
        ControlGroup.Hierarchy(
          version: .second, folders: ["/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/user.slice/app.scope"]),
      ])
    #expect(ControlGroup.hierarchies("0::/\n") == [.init(version: .second, folders: ["/sys/fs/cgroup"])])
    #expect(ControlGroup.hierarchies("") == [] && ControlGroup.hierarchies("rubbish\n0::\n:::\n") == [])
  }

  @Test func `pages of files that nobody uses are not taken`() throws {
    let stat = "anon 5\nfile 700\ninactive_anon 1\ninactive_file 600\nactive_file 100\n"
    let group = try #require(ControlGroup(limit: "1000\n", usage: "900\n", stat: stat, idle: "inactive_file"))
    #expect(group.limit == 1000 && group.taken == 300 && group.free == 700)
    #expect(ControlGroup(limit: "max\n", usage: "900\n", stat: stat, idle: "inactive_file") == nil)
    #expect(ControlGroup(limit: "1000", usage: "", stat: stat, idle: "inactive_file") == nil)
    #expect(ControlGroup(limit: "10", usage: "50", stat: "", idle: "inactive_file")?.free == 0)
  }

  @Test func `this machine has some memory`() {
    #expect(MemoryLimit.available() > 0)
    #if os(Linux)
      #expect(MemoryLimit.available() < .max)
    #endif
  }
}
