import { extname } from 'node:path'

const text = (type: string): string => `${type}; charset=utf-8`

const types: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.css': text('text/css'),
  '.csv': text('text/csv'),
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': text('text/html'),
  '.html': text('text/html'),
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': text('text/javascript'),
  '.json': 'application/json',
  '.map': 'application/json',
  '.md': text('text/markdown'),
  '.mjs': text('text/javascript'),
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.otf': 'font/otf',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.ttf': 'font/ttf',
  '.txt': text('text/plain'),
  '.wasm': 'application/wasm',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
}

/** The type of a file by its name; unknown types are downloads. */
export const contentType = (path: string): string =>
  types[extname(path).toLowerCase()] ?? 'application/octet-stream'
