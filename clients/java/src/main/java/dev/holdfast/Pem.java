package dev.holdfast;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** What TLS needs, from files of PEM. Messages name the files, and never what is in them. */
final class Pem {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");
  private static final char[] NO_PASSWORD = {};

  private Pem() {}

  /** Trusts these CAs and no others. */
  static TrustManager[] trust(Path file) throws IOException {
    try {
      KeyStore store = emptyStore();
      for (Certificate each : certificatesIn(file)) store.setCertificateEntry("ca-" + store.size(), each);
      TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      return factory.getTrustManagers();
    } catch (GeneralSecurityException error) {
      throw unusable(file, error);
    }
  }

  /** Shows this certificate, with those that lead to its CA after it. */
  static KeyManager[] identity(Path certificates, Path key) throws IOException {
    try {
      KeyStore store = emptyStore();
      Certificate[] chain = certificatesIn(certificates).toArray(new Certificate[0]);
      store.setKeyEntry("client", keyIn(key), NO_PASSWORD, chain);
      KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      factory.init(store, NO_PASSWORD);
      return factory.getKeyManagers();
    } catch (GeneralSecurityException error) {
      throw unusable(certificates, error);
    }
  }

  /** Null stands for what the JVM has. */
  static SSLContext context(KeyManager[] own, TrustManager[] trusted) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(own, trusted, null);
      return context;
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException("this JVM has no TLS", error);
    }
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static Collection<? extends Certificate> certificatesIn(Path file)
      throws IOException, GeneralSecurityException {
    try (InputStream stream = Files.newInputStream(file)) {
      var certificates = CertificateFactory.getInstance("X.509").generateCertificates(stream);
      if (certificates.isEmpty()) throw new IllegalArgumentException(file + " contains no certificate");
      return certificates;
    }
  }

  private static PrivateKey keyIn(Path file) throws IOException, GeneralSecurityException {
    Matcher found = KEY.matcher(Files.readString(file));
    if (!found.find()) throw new IllegalArgumentException(file + " contains no private key in PKCS #8 (PRIVATE KEY)");
    PKCS8EncodedKeySpec key = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1)));
    for (String algorithm : List.of("EC", "RSA")) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(key);
      } catch (InvalidKeySpecException other) {
        // It is a key for the other one.
      }
    }
    throw new IllegalArgumentException(file + " contains a private key that is neither EC nor RSA");
  }

  private static IllegalArgumentException unusable(Path file, GeneralSecurityException error) {
    return new IllegalArgumentException(file + " cannot be used: " + error.getMessage(), error);
  }
}
