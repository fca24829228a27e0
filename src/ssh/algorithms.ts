import type { Algorithms } from 'ssh2'

/** Supported algorithms: no SHA-1, no CBC, and only encrypt-then-MAC. */
export const algorithms = {
  // The client's order decides. No client prefers the first, so Dropbear's guessed message is always a wrong guess:
  // ssh2 1.17 drops the guessed message, even a right one, and would wait forever.
  kex: [
    'ecdh-sha2-nistp384',
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp521',
  ],
  serverHostKey: ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes128-ctr',
    'aes256-ctr',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'],
  // Compression before sign-in would expose the decompressor to everyone, and tunnel data is often compressed already.
  compress: ['none'],
} as const satisfies Algorithms
