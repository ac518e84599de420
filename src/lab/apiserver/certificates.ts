/**
 * A CA of one server's own, made in memory at its start: the real client talks TLS only.
 *
 * P-256 keys: made in a millisecond, and every TLS library takes them.
 */
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** PEM. */
export type KeyPair = { readonly certificate: string; readonly key: string };
export type Certificates = { readonly ca: string; readonly server: KeyPair; readonly client: KeyPair };

/** Any node clock that is not badly off accepts them, and they outlive a soak. */
const VALID_BEFORE_MS = 24 * 3_600_000;
const VALID_AFTER_MS = 365 * 24 * 3_600_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** `hosts` are the names and addresses that clients dial; `user` becomes the client certificate's common name. */
export async function makeCertificates(hosts: readonly string[], user: string, group: string): Promise<Certificates> {
  const keys = await newKeys();
  const ca = await X509CertificateGenerator.createSelfSigned({
    ...lifetime(),
    name: [{ CN: ['enactor-lab-ca'] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const signer = { ca, key: keys.privateKey };
  const names = hosts.map((value): JsonGeneralName => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }));
  return {
    ca: ca.toString('pem'),
    server: await signed(signer, [{ CN: ['kube-apiserver'] }], ExtendedKeyUsage.serverAuth, names),
    client: await signed(signer, [{ O: [group] }, { CN: [user] }], ExtendedKeyUsage.clientAuth, []),
  };
}

async function signed(
  signer: { ca: X509Certificate; key: webcrypto.CryptoKey },
  subject: readonly Record<string, string[]>[],
  usage: ExtendedKeyUsage,
  names: JsonGeneralName[],
): Promise<KeyPair> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    ...lifetime(),
    subject: [...subject],
    issuer: signer.ca.subject,
    publicKey: keys.publicKey,
    signingKey: signer.key,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([usage]),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { certificate: certificate.toString('pem'), key };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function lifetime(): { serialNumber: string; notBefore: Date; notAfter: Date } {
  // A serial number is positive: its first bit is clear.
  const serial = randomBytes(16);
  serial[0] = (serial[0] ?? 0) & 0x7f;
  const nowMs = Date.now();
  return {
    serialNumber: serial.toString('hex'),
    notBefore: new Date(nowMs - VALID_BEFORE_MS),
    notAfter: new Date(nowMs + VALID_AFTER_MS),
  };
}
