package com.example.auth;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** A password as it is kept: salted and hashed. */
record Password(byte[] salt, byte[] hash) {
    private static final int ROUNDS = 20_000;
    private static final int BITS = 256;

    static Password of(String password) {
        byte[] salt = new byte[16];
        new SecureRandom().nextBytes(salt);
        return new Password(salt, hashed(password, salt));
    }

    boolean is(String password) {
        return MessageDigest.isEqual(hash, hashed(password, salt));
    }

    private static byte[] hashed(String password, byte[] salt) {
        try {
            PBEKeySpec key = new PBEKeySpec(password.toCharArray(), salt, ROUNDS, BITS);
            return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(key).getEncoded();
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
