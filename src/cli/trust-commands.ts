import { join } from 'node:path'

/** A gateway's root certificate. */
export interface Root {
  readonly path: string
  readonly pem: string
  readonly name: string
  /** In hexadecimal digits without colons. */
  readonly sha1: string
  readonly sha256: string
}

/** A Linux trust store, and the program that updates it. */
export interface SystemStore {
  readonly system: string
  readonly folder: string
  readonly update: readonly string[]
  /** Further arguments of the program after a removal. */
  readonly removed: readonly string[]
}

export const systemStores: readonly SystemStore[] = [
  {
    system: 'Debian, Ubuntu',
    folder: '/usr/local/share/ca-certificates',
    update: ['update-ca-certificates'],
    removed: ['--fresh'],
  },
  {
    system: 'Fedora, Red Hat',
    folder: '/etc/pki/ca-trust/source/anchors',
    update: ['update-ca-trust'],
    removed: [],
  },
]

/** Several gateways may be trusted, so each has its own file. */
export const fileIn = (folder: string, { sha256 }: Root): string =>
  join(folder, `adit-${sha256.slice(0, 12).toLowerCase()}.crt`)

/** One shell word, whatever it contains. */
const word = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

interface Section {
  readonly title: string
  readonly install: readonly string[]
  readonly uninstall: readonly string[]
}

const KEYCHAIN = '/Library/Keychains/System.keychain'
/** Browsers with their own trust store have one in each profile. */
const PROFILES =
  '~/.mozilla/firefox/*/cert9.db ~/snap/firefox/common/.mozilla/firefox/*/cert9.db ~/.pki/nssdb/cert9.db'
const inProfiles = (command: string): string =>
  `for db in ${PROFILES}; do [ -f "$db" ] && certutil -d "sql:\${db%/*}" ${command}; done`

function sectionsFor(root: Root): Section[] {
  const { path, name, sha1 } = root
  const stores = systemStores.map(({ system, folder, update, removed }): Section => {
    const file = fileIn(folder, root)
    return {
      title: system,
      install: [`sudo install -m 644 ${word(path)} ${file}`, `sudo ${update.join(' ')}`],
      uninstall: [`sudo rm ${file}`, `sudo ${[...update, ...removed].join(' ')}`],
    }
  })
  return [
    ...stores,
    {
      title: 'macOS',
      install: [`sudo security add-trusted-cert -d -r trustRoot -k ${KEYCHAIN} ${word(path)}`],
      uninstall: [`sudo security delete-certificate -Z ${sha1} -t ${KEYCHAIN}`],
    },
    {
      title: 'Windows, as an administrator, with a copy of the file',
      install: ['certutil -addstore -f ROOT ca.pem'],
      uninstall: [`certutil -delstore ROOT ${sha1}`],
    },
    {
      title: 'Firefox and Chromium on Linux, with certutil of libnss3-tools (nss-tools on Fedora)',
      install: [inProfiles(`-A -t C,, -n ${word(name)} -i ${word(path)}`)],
      uninstall: [inProfiles(`-D -n ${word(name)}`)],
    },
  ]
}

const FIREFOX = `
Firefox on macOS and Windows uses the system's trust store; elsewhere the file can also be imported in its settings:
Privacy & Security, View Certificates, Authorities, Import.
`

/** The commands for each system to trust a root, or to remove it. */
export function commandsText(root: Root, action: 'install' | 'uninstall'): string {
  const sections = sectionsFor(root).map(
    section => `${section.title}:\n${section[action].map(line => `  ${line}\n`).join('')}`,
  )
  return `${sections.join('\n')}${action === 'install' ? FIREFOX : ''}`
}
