import { realpathSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FileServer } from '#agent/files/file-server.ts'
import type { EndpointProto } from '#agent/options.ts'
import { refuseEndpoint as refuse } from '#agent/refuse-endpoint.ts'

interface Folder {
  readonly server: FileServer
  /** How it is displayed. */
  readonly text: string
}

export const isFolder = (given: string | number | undefined): given is string =>
  typeof given === 'string' && /^file:/i.test(given)

/** The folder of `file:///path`; undefined for other addresses. */
export function folderOf(given: string | number | undefined, proto: EndpointProto | ''): Folder | undefined {
  if (!isFolder(given)) return undefined
  if (proto === 'tcp' || proto === 'tls') refuse('files can only be served over HTTP: use "adit http"')
  const root = rootOf(given)
  return { server: new FileServer(root), text: given }
}

function rootOf(given: string): string {
  if (!/^file:\/\/\//i.test(given)) refuse(`"${given.slice(0, 200)}" must be file:/// and an absolute path`)
  try {
    const root = realpathSync(fileURLToPath(given))
    if (statSync(root).isDirectory()) return root
  } catch (error) {
    return refuse(
      `the folder of ${given.slice(0, 200)} cannot be read: ${(error as NodeJS.ErrnoException).code}`,
    )
  }
  return refuse(`${given.slice(0, 200)} is not a folder`)
}
