import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { EPOCH, file, type Entry } from './archive.ts'
import { root } from './bundle.ts'
import type { Executable } from './executable.ts'
import { completions, manPages } from './manuals.ts'
import { metadata } from './npm.ts'

const files = join(root, 'scripts/package/debian')
const read = (name: string): Buffer => readFileSync(join(files, name))

/** The Debian package: executable, units, configuration, man pages and completions. */
export function debianPackage({ binary, licences }: Executable, { isFast = false } = {}): Buffer {
  const payload = [
    file('usr/bin/adit', binary, 0o755),
    file('lib/systemd/system/adit.service', installedUnit()),
    file('lib/systemd/system/adit-agent.service', readFileSync(join(root, 'deploy/adit-agent.service'))),
    file('usr/lib/sysctl.d/50-adit.conf', read('sysctl.conf')),
    file('etc/adit/server.yml', read('server.yml'), 0o640),
    file('etc/adit/agent.yml', read('agent.yml'), 0o640),
    file('usr/share/doc/adit/copyright', copyright(licences)),
    file('usr/share/doc/adit/changelog.gz', compressed(readFileSync(join(root, 'CHANGELOG.md')))),
    ...manPages().map(page => file(`usr/share/man/man1/${page.name}.gz`, compressed(Buffer.from(page.text)))),
    ...completions().map(({ path, text }) => file(`usr/share/${path}`, text)),
  ]
  const size = payload.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  const control = [
    file('DEBIAN/control', controlFile(Math.ceil(size / 1024))),
    file('DEBIAN/conffiles', '/etc/adit/server.yml\n/etc/adit/agent.yml\n'),
    ...['postinst', 'prerm', 'postrm'].map(name => file(`DEBIAN/${name}`, read(name), 0o755)),
  ]
  return built([...control, ...payload], isFast ? ['-Znone'] : ['-Zzstd', '-z10'])
}

/** The unit for a checkout, with the paths of the package. */
const installedUnit = (): string =>
  readFileSync(join(root, 'deploy/adit.service'), 'utf8')
    .replace(/^# For a checkout.*\n/, '')
    .replace('file:/opt/adit/docs/operations.md', 'man:adit-serve(1)')
    .replaceAll('/opt/adit/bin/adit', '/usr/bin/adit')

const compressed = (bytes: Buffer): Buffer => gzipSync(bytes, { level: 9 })

const controlFile = (installedSize: number): string => `Package: adit
Version: ${metadata.version}
Architecture: amd64
Maintainer: The Adit maintainers <maintainers@adit.invalid>
Installed-Size: ${installedSize}
Depends: libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9), adduser
Section: net
Priority: optional
Description: self-hosted tunnel and ingress platform
 Adit makes services behind a firewall reachable through a gateway on a machine
 with a public address. The package has the server, with its management API,
 and the agent.
`

const copyright = ({ content }: Entry): string =>
  `Adit is licensed under the Apache License, version 2.0:\n/usr/share/common-licenses/Apache-2.0\n\n` +
  `It contains the following packages.\n\n${content?.toString() ?? ''}`

function built(entries: readonly Entry[], compression: readonly string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'adit-deb-'))
  const tree = join(folder, 'tree')
  try {
    for (const { path, mode, content } of entries) {
      const target = join(tree, path)
      mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
      writeFileSync(target, content ?? '')
      // Independent of the builder's umask.
      chmodSync(target, mode)
    }
    const out = join(folder, 'adit.deb')
    const environment = { ...process.env, SOURCE_DATE_EPOCH: String(EPOCH.getTime() / 1000) }
    const options = ['--root-owner-group', ...compression, '--build']
    execFileSync('dpkg-deb', [...options, tree, out], { env: environment, stdio: 'pipe' })
    return readFileSync(out)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
