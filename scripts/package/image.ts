import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { EPOCH, file, folder, sha256, tar, type Entry } from './archive.ts'
import type { Executable } from './executable.ts'
import { metadata } from './npm.ts'

const USER = 10001
const layerType = 'application/vnd.oci.image.layer.v1.tar+gzip'

/** The runtime configuration of a container. compose.yaml maps the public ports to these, which need no capability. */
const config = {
  User: `${USER}:${USER}`,
  WorkingDir: '/data',
  Volumes: { '/data': {} },
  Env: [
    'PATH=/usr/bin',
    'ADIT_DATA_DIR=/data',
    'ADIT_API_ADDR=0.0.0.0:4600',
    'ADIT_HTTP_ADDR=0.0.0.0:8080',
    'ADIT_HTTPS_ADDR=0.0.0.0:8443',
    'ADIT_AGENT_ADDR=0.0.0.0:4443',
    'ADIT_SSH_ADDR=0.0.0.0:2222',
    'ADIT_TCP_HOST=0.0.0.0',
  ],
  ExposedPorts: Object.fromEntries([4600, 8080, 8443, 4443, 2222].map(port => [`${port}/tcp`, {}])),
  Entrypoint: ['/usr/bin/adit'],
  Cmd: ['serve'],
  StopSignal: 'SIGTERM',
  Healthcheck: {
    Test: ['CMD', '/usr/bin/adit', 'ready'],
    Interval: 30e9,
    Timeout: 5e9,
    StartPeriod: 30e9,
    Retries: 3,
  },
  Labels: {
    'org.opencontainers.image.title': 'Adit',
    'org.opencontainers.image.description': 'Self-hosted tunnel and ingress platform',
    'org.opencontainers.image.version': metadata.version,
    'org.opencontainers.image.licenses': metadata.license,
  },
}

/**
 * A container image with only the executable and its libraries: an OCI layout that `docker load` reads too. Written
 * here, so that no Docker daemon is needed.
 */
export async function image(built: Executable, { isFast = false } = {}): Promise<Buffer> {
  const layer = await tar(rootFileSystem(built))
  const layerBlob = blob(gzipSync(layer, { level: isFast ? 0 : 6 }))
  const configBlob = blob(
    json({
      architecture: 'amd64',
      os: 'linux',
      created: EPOCH.toISOString(),
      config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created: EPOCH.toISOString(), created_by: 'npm run package' }],
    }),
  )
  const manifestBlob = blob(
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...descriptor(configBlob) },
      layers: [{ mediaType: layerType, ...descriptor(layerBlob) }],
    }),
  )
  const tag = `adit:${metadata.version}`
  return tar([
    folder('blobs/'),
    folder('blobs/sha256/'),
    layerBlob,
    configBlob,
    manifestBlob,
    file('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
    file('index.json', json(indexOf(manifestBlob, tag))),
    file('manifest.json', json([{ Config: configBlob.path, RepoTags: [tag], Layers: [layerBlob.path] }])),
  ])
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const blob = (content: Buffer): Entry & { content: Buffer } => ({
  ...file(`blobs/sha256/${sha256(content)}`, content),
  content,
})
const descriptor = ({ content }: { content: Buffer }) => ({
  digest: `sha256:${sha256(content)}`,
  size: content.length,
})

const indexOf = (manifest: Entry & { content: Buffer }, tag: string) => ({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [
    {
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      ...descriptor(manifest),
      platform: { architecture: 'amd64', os: 'linux' },
      annotations: { 'org.opencontainers.image.ref.name': tag },
    },
  ],
})

function rootFileSystem({ binary, licences }: Executable): Entry[] {
  return [
    ...['etc/', 'usr/', 'usr/bin/', 'lib/', 'lib64/', 'usr/share/', 'usr/share/doc/'].map(path =>
      folder(path),
    ),
    folder('tmp/', 0o1777),
    folder('data/', 0o700, USER),
    file(
      'etc/passwd',
      `root:x:0:0:root:/root:/usr/sbin/nologin\nadit:x:${USER}:${USER}:Adit:/data:/usr/sbin/nologin\n`,
    ),
    file('etc/group', `root:x:0:\nadit:x:${USER}:\n`),
    file('etc/nsswitch.conf', 'hosts: files dns\n'),
    file('usr/share/doc/LICENSES', licences.content ?? ''),
    file('usr/bin/adit', binary, 0o755),
    ...libraries(binary),
  ]
}

/** The shared libraries of the build machine, under their sonames. */
function libraries(binary: Buffer): Entry[] {
  const scratch = mkdtempSync(join(tmpdir(), 'adit-image-'))
  try {
    const path = join(scratch, 'adit')
    writeFileSync(path, binary, { mode: 0o755 })
    const linked = execFileSync('ldd', [path]).toString()
    // Loaded at run time for name resolution, so no program is linked with them.
    const resolvers = ['/lib/x86_64-linux-gnu/libnss_dns.so.2', '/lib/x86_64-linux-gnu/libnss_files.so.2']
    const found = [...linked.matchAll(/(\/\S+\/([^/\s]+)) \(0x/g)].map(([, from = '']) => from)
    return [...new Set([...found, ...resolvers])].map(from => {
      const name = from.split('/').at(-1) ?? ''
      const to = name.startsWith('ld-linux') ? `lib64/${name}` : `lib/${name}`
      return file(to, readFileSync(realpathSync(from)), 0o755)
    })
  } finally {
    rmSync(scratch, { recursive: true })
  }
}
