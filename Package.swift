// swift-tools-version: 6.2
import PackageDescription

/// Imports are internal unless a public signature needs them: each `public import` is then a statement about the API.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "coffer",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferFoundation", targets: ["CofferFoundation"]),
    .library(name: "CofferTesting", targets: ["CofferTesting"]),
    .executable(name: "coffer", targets: ["CofferCLI"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    // The C boundary: three module maps, nothing else imports C libraries.
    .systemLibrary(name: "CCofferSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(name: "CCofferSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "CCofferPlatform"),

    .target(name: "CofferMemory", dependencies: ["CCofferSodium", "CCofferPlatform"], swiftSettings: strict),
    .target(
      name: "CofferStorage",
      dependencies: [
        "CofferMemory", "CCofferPlatform",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .target(
      name: "CofferDefaults",
      dependencies: ["CofferStorage", "CCofferPlatform", .product(name: "SystemPackage", package: "swift-system")],
      swiftSettings: strict),
    .target(
      name: "CofferVault",
      dependencies: [
        "CofferStorage", "CofferMemory", "CCofferSodium", "CCofferSQLite", "CCofferPlatform",
        .product(name: "SystemPackage", package: "swift-system"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // Keeps a vault unlocked in a process of its own, and asks it.
    .target(
      name: "CofferAgent",
      dependencies: [
        "CofferVault", "CofferStorage", "CofferMemory", "CCofferPlatform",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .target(
      name: "CofferValues",
      dependencies: ["CofferStorage", "CofferDefaults", .product(name: "SystemPackage", package: "swift-system")],
      swiftSettings: strict),
    .target(
      name: "Coffer",
      dependencies: [
        "CofferValues", "CofferStorage", "CofferDefaults", "CofferVault", "CofferMemory", "CofferAgent",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "CofferCLI",
      dependencies: [
        "Coffer", "CCofferPlatform",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    // Foundation's own UserDefaults as a store, for programs that live beside code that uses it.
    .target(name: "CofferFoundation", dependencies: ["CofferStorage"], swiftSettings: strict),
    // For the tests of programs that use Coffer, and of stores made elsewhere.
    .target(
      name: "CofferTesting",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferValues", "CofferVault", "CofferStorage", "CofferMemory",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    // A program of a user's, which the documentation shows. Not a product.
    .executableTarget(name: "CofferExample", dependencies: ["Coffer"], swiftSettings: strict),
    // A malloc that counts, for the benchmarks alone.
    .target(name: "CCofferAllocations"),
    // Ratios against peers in the same run: `swift run -c release CofferBenchmarks`.
    .executableTarget(
      name: "CofferBenchmarks",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferStorage", "CCofferSodium", "CCofferSQLite", "CCofferAllocations",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),

    // The random choices of campaigns, which a seed gives again.
    .target(name: "TestRandom", path: "Tests/TestRandom", swiftSettings: strict),
    .testTarget(name: "CofferMemoryTests", dependencies: ["CofferMemory"], swiftSettings: strict),
    .testTarget(
      name: "CofferStorageTests",
      dependencies: ["CofferStorage", "CofferMemory", .product(name: "SystemPackage", package: "swift-system")]),
    .testTarget(
      name: "CofferVaultTests",
      dependencies: [
        "CofferVault", "CofferStorage", "CofferMemory", "CCofferSQLite", "CCofferSodium", "VaultTestTool", "TestRandom",
        .product(name: "SystemPackage", package: "swift-system"),
      ]),
    // The vault's other processes: they rotate, die in the midst of it, and write meanwhile.
    .executableTarget(
      name: "VaultTestTool",
      dependencies: ["CofferVault", "CofferStorage", "CofferMemory", .product(name: "SystemPackage", package: "swift-system")],
      path: "Tests/VaultTestTool", swiftSettings: strict),
    // A vault store that ends its process at a given step, for the two tools that die.
    .target(name: "DyingVault", dependencies: ["CofferVault", "CofferStorage"], path: "Tests/DyingVault", swiftSettings: strict),
    // A transaction over both real stores, and the process that dies in the midst of it.
    .executableTarget(
      name: "TransactionTestTool",
      dependencies: [
        "CofferAgent", "CofferDefaults", "CofferVault", "CofferStorage", "CofferMemory", "DyingVault",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/TransactionTestTool", swiftSettings: strict),
    .testTarget(
      name: "TransactionTests",
      dependencies: [
        "CofferVault", "CofferStorage", "CofferMemory", "TransactionTestTool", "TestRandom",
        .product(name: "SystemPackage", package: "swift-system"),
      ]),
    // Compiles programs that must not compile, against the modules of this build.
    .testTarget(name: "ForbiddenProgramTests", dependencies: ["CofferValues", "CofferStorage", "CofferMemory"]),
    // The five systems, row by row, on the real stores.
    .testTarget(name: "CofferValuesTests", dependencies: ["Coffer", "DefaultsTestTool"], swiftSettings: strict),
    .testTarget(name: "ArchitectureTests"),
    // The plain store's other processes: they write, die at given points, and ask Foundation.
    .executableTarget(
      name: "DefaultsTestTool",
      dependencies: ["CofferDefaults", "CofferStorage", "TestRandom", .product(name: "SystemPackage", package: "swift-system")],
      path: "Tests/DefaultsTestTool", swiftSettings: strict),
    .testTarget(
      name: "CofferDefaultsTests",
      dependencies: [
        "CofferDefaults", "CofferStorage", "DefaultsTestTool", "TestRandom",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    // A session's other processes: they log in, log out and refresh, and die in the midst of it.
    .executableTarget(
      name: "SessionTestTool",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferStorage", "DyingVault", .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/SessionTestTool", swiftSettings: strict),
    .testTarget(
      name: "CofferAgentTests",
      dependencies: [
        "CofferAgent", "CofferTesting", "Coffer", "CofferVault", "CofferStorage", "CofferMemory", "TestRandom",
        .product(name: "SystemPackage", package: "swift-system"),
      ]),
    .testTarget(
      name: "CofferTests",
      dependencies: ["Coffer", "CofferStorage", "SessionTestTool", .product(name: "SystemPackage", package: "swift-system")],
      swiftSettings: strict),
    .testTarget(
      name: "CofferTestingTests",
      dependencies: [
        "CofferTesting", "CofferFoundation", "Coffer", "CofferStorage", .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CofferCLITests",
      dependencies: [
        "CofferCLI", "CofferExample", "Coffer", "CofferVault", "CofferStorage", "CofferMemory", "TestRandom",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
