// swift-tools-version: 6.2
import PackageDescription

// What `.ci/fuzz` builds: programs that libFuzzer runs, one for each part of the house, over the sources of the house itself.
// They are no dependency of this package: what they have to read is internal, and two of them are no library that another package
// sees.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
/// What libFuzzer sees the inside of. Checks stay: a program that counts past the end of an integer has to stop.
let watched: [SwiftSetting] = strict + [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
let tested: [SwiftSetting] = strict + [.unsafeFlags(["-enable-testing"])]

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "Fuzz\(name)", dependencies: ["FuzzShared", system] + dependencies, path: "Parsers/\(name)",
    swiftSettings: [.unsafeFlags(["-parse-as-library"])],
    // libFuzzer takes hints from words that are compared. Shared libraries compare too: libpq the names of its parameters,
    // hundreds for a connection, which are no words of an input. They are left with the C library's own functions.
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld", "-Xlinker", "--exclude-libs=ALL"])])
}

let package = Package(
  name: "coffer-fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    .systemLibrary(name: "CCofferSodium", pkgConfig: "libsodium"),
    .systemLibrary(name: "CCofferSQLite", pkgConfig: "sqlite3"),
    .target(name: "CCofferPlatform"),
    .target(name: "CCofferLibraries"),
    .target(name: "CofferPlatform", dependencies: ["CCofferPlatform", system], swiftSettings: tested),
    .target(name: "CofferMemory", dependencies: ["CCofferSodium", "CofferPlatform"], swiftSettings: tested),
    .target(name: "CofferObservation", swiftSettings: tested),
    .target(
      name: "CofferStorage", dependencies: ["CofferMemory", "CofferObservation", "CofferPlatform", system], swiftSettings: tested),
    .target(name: "CofferDefaults", dependencies: ["CofferStorage", "CofferPlatform", system], swiftSettings: watched),
    .target(
      name: "CofferVaultFormat", dependencies: ["CofferStorage", "CofferMemory", "CCofferSodium", "CofferPlatform"],
      swiftSettings: watched),
    .target(
      name: "CofferVaultRows",
      dependencies: ["CofferVaultFormat", "CofferStorage", "CCofferSodium", "CCofferSQLite", "CofferPlatform", system],
      swiftSettings: watched),
    .target(
      name: "CofferVault",
      dependencies: [
        "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", system, logging,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferAgent",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", system,
      ],
      swiftSettings: watched),
    .target(
      name: "Coffer",
      dependencies: [
        "CofferPlatform", "CofferStorage", "CofferDefaults", "CofferVault", "CofferVaultFormat", "CofferVaultRows",
        "CofferMemory", "CofferAgent", system,
      ],
      swiftSettings: tested),
    .target(
      name: "CofferPostgres",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferMemory",
        "CofferPlatform", "CCofferLibraries", system,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferLogin",
      dependencies: ["Coffer", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferPlatform", "CCofferLibraries", system],
      swiftSettings: watched),
    .target(
      name: "CofferSecretService",
      dependencies: [
        "CofferAgent", "CofferVault", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferLibraries", system,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferTerminal",
      dependencies: [
        "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", system, logging,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferFormats",
      dependencies: [
        "CofferTerminal", "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", "CCofferLibraries",
      ],
      swiftSettings: watched),
    .target(
      name: "CofferCLI",
      dependencies: [
        "Coffer", "CofferAgent", "CofferDefaults", "CofferFormats", "CofferLogin", "CofferMemory", "CofferPlatform",
        "CofferPostgres", "CofferSecretService", "CofferStorage", "CofferTerminal", "CofferVault", "CofferVaultRows",
        "CCofferLibraries", arguments, system,
      ],
      // Its entry is none here. Were it in a file of the name Main.swift, SwiftPM would take the target for a program, and
      // another program would get none of its code.
      swiftSettings: watched + [
        .unsafeFlags(["-parse-as-library", "-Xfrontend", "-entry-point-function-name", "-Xfrontend", "coffer_main"])
      ]),
    .target(
      name: "FuzzShared", dependencies: ["CofferMemory", "CofferPlatform"], path: "Parsers/Shared",
      swiftSettings: [.define("FUZZING")]),
    program(
      "Vault",
      [
        "CofferAgent", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform",
      ]),
    program(
      "Postgres",
      ["CofferPostgres", "CofferVault", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferPlatform"]),
    program("Defaults", ["CofferDefaults", "CofferStorage", "CofferPlatform"]),
    program(
      "CommandLine",
      [
        "CofferCLI", "CofferFormats", "CofferTerminal", "CofferSecretService", "CofferLogin", "Coffer", "CofferVault",
        "CofferStorage", "CofferPlatform",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
