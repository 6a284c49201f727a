// Written by tools/fit_polynomials.py; lowest degree first, error as a power of two.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace lumus::LUMUS_ISA {

// exp(r) = 1 + r + r^2 P(r); error 2^-28.0.
constexpr float kExpF32[] = {
    0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a2p-7f, 0x1.6a242ap-10f,
};

// exp(r) = 1 + r + r^2 P(r); error 2^-56.3.
constexpr double kExpF64[] = {
    0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.555555555083ep-5,  0x1.1111111127d14p-7,
    0x1.6c16c18438c42p-10, 0x1.a01a012a0e69bp-13, 0x1.a01999e22ec09p-16, 0x1.71df25b375c97p-19,
    0x1.28ad9bb25afcbp-22, 0x1.ad7f3f6335839p-26,
};

// expm1(r) = r + r^2 P(r); error 2^-28.7.
constexpr float kExpm1F32[] = {
    0x1p-1f, 0x1.555554p-3f, 0x1.5554bp-5f, 0x1.11118ap-7f, 0x1.6d723ep-10f, 0x1.a032a8p-13f,
};

// expm1(r) = r + r^2 P(r); error 2^-59.6.
constexpr double kExpm1F64[] = {
    0x1p-1,
    0x1.5555555555559p-3,
    0x1.555555555553ep-5,
    0x1.111111110f6c5p-7,
    0x1.6c16c16c1f0d4p-10,
    0x1.a01a01afdd7c9p-13,
    0x1.a01a017bb3e3bp-16,
    0x1.71ddf863e243dp-19,
    0x1.27e5363ef01ffp-22,
    0x1.af5ea8077b793p-26,
    0x1.1ee88b4a3bcaap-29,
};

// 2^r = 1 + r P(r), for float32 results; error 2^-32.5.
constexpr double kExp2InF64[] = {
    0x1.62e42fef95e6bp-1,  0x1.ebfbe0461124dp-3,  0x1.c6b08dc6030b5p-5,  0x1.3b2a1b4d52f4cp-7,
    0x1.5d874c4e3dd55p-10, 0x1.444022d3484ccp-13, 0x1.00dc6c33a68f6p-16,
};

// log(1 + f) = f - f^2 / 2 + f^3 P(f); error 2^-28.7.
constexpr float kLogF32[] = {
    0x1.555556p-2f,  -0x1.ffff0ep-3f, 0x1.99977ep-3f,  -0x1.559906p-3f, 0x1.24f49p-3f,
    -0x1.f38a0ap-4f, 0x1.b87e06p-4f,  -0x1.071104p-3f, 0x1.ebd13ap-4f,
};

// log((1+s)/(1-s)) = 2s + s w P(w), w = s^2; error 2^-57.9.
constexpr double kLogF64[] = {
    0x1.5555555555592p-1, 0x1.999999997fd74p-2, 0x1.24924941f5035p-2, 0x1.c71c520611e65p-3,
    0x1.74663f9dbf387p-3, 0x1.39a1a7960eeabp-3, 0x1.2f062ce690fb7p-3,
};

// log((1+s)/(1-s)) = 2s + (2/3) s w + s w^2 P(w); error 2^-65.3.
constexpr double kPowLogF64[] = {
    0x1.9999999999996p-2, 0x1.2492492493036p-2, 0x1.c71c71c5804c8p-3, 0x1.745d1832601cbp-3,
    0x1.3b1362b280f57p-3, 0x1.1120b6286956ep-3, 0x1.de335b7ca643dp-4, 0x1.eb11d05e3d801p-4,
};

// log2((1+s)/(1-s)) = s P(w), w = s^2, for float32 results; error 2^-43.6.
constexpr double kLog2InF64[] = {
    0x1.71547652b825p+1,  0x1.ec709dc53dd94p-1, 0x1.2776c291b7016p-1,
    0x1.a61a2fec15199p-2, 0x1.47952a412deaap-2, 0x1.21b33ef3a8399p-2,
};

// sin(r) = r + r^3 P(r^2); error 2^-56.4.
constexpr double kSinF64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f7c9p-7,   -0x1.a01a019bfd0d6p-13,
    0x1.71de35670951ap-19, -0x1.ae5e59eef37b2p-26, 0x1.5d8fa1579eab7p-33,
};

// cos(r) = 1 - r^2 / 2 + r^4 P(r^2); error 2^-59.9.
constexpr double kCosF64[] = {
    0x1.555555555554cp-5,   -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1c2p-16,
    -0x1.27e4f809f398dp-22, 0x1.1ee9ebeb23c89p-29,  -0x1.8fae9d77a2ce6p-37,
};

// sin(r) = r + r^3 P(r^2), for float32 results; error 2^-37.5.
constexpr double kSinInF64[] = {
    -0x1.5555554c6fef6p-3,
    0x1.11110869064e8p-7,
    -0x1.a00f7e12a43e5p-13,
    0x1.6cd1b06b7802dp-19,
};

// cos(r) = 1 - r^2 / 2 + r^4 P(r^2), for float32 results; error 2^-33.3.
constexpr double kCosInF64[] = {
    0x1.55554ab260f5cp-5,
    -0x1.6c0c8aadfe52ap-10,
    0x1.9a020a411534ep-16,
};

// tanh(x) = x + x^3 P(x^2), |x| <= 0.9; error 2^-28.5.
constexpr float kTanhF32[] = {
    -0x1.55554ep-2f, 0x1.110f34p-3f, -0x1.b9c9e6p-5f,  0x1.62ef28p-6f,
    -0x1.0eceb4p-7f, 0x1.527ecap-9f, -0x1.dd85cap-12f,
};

// erf(x) = x + x P(x^2), |x| <= 1/2; error 2^-27.6.
constexpr float kErfF32[] = {
    0x1.06eba8p-3f, -0x1.812732p-2f, 0x1.ce251ep-4f, -0x1.b6677ep-6f, 0x1.35501p-8f,
};

// erf(x) = x + x P(x^2), |x| <= 1; error 2^-55.7.
constexpr double kErfF64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b34p-4,  -0x1.b82ce31284f26p-6,
    0x1.565bcd0dbd652p-8,  -0x1.c02db3db4136dp-11, 0x1.f9a321e3c240dp-14, -0x1.f4d1e421d6803p-17,
    0x1.b9df2f64b497cp-20, -0x1.5f1f38953910bp-23, 0x1.f7b9412988871p-27, -0x1.38aaff16d149fp-30,
    0x1.062434e932db8p-34,
};

// log(erfc(x)) = -(x + x P(x)), x <= 4; error 2^-26.9.
constexpr float kLogErfcF32[] = {
    0x1.06eba8p-3f,  0x1.45f2fap-1f,   0x1.a4fa5ep-4f,  -0x1.39cdcap-6f,  -0x1.505bbap-13f,
    0x1.b4ffb4p-10f, -0x1.4bc928p-11f, 0x1.ed6a72p-14f, -0x1.3694dap-17f,
};

// (1 + 2x) exp(x^2) erfc(x) = 1 + P((x - 2.5) / (x + 2.5)); error 2^-25.8.
constexpr float kErfcF32[] = {
    0x1.0f31bep-2f,  -0x1.f52c4cp-4f, -0x1.959a58p-4f, 0x1.42d276p-3f,
    -0x1.a5c864p-4f, 0x1.0c7fe8p-5f,  0x1.0185c6p-10f, -0x1.214968p-8f,
    0x1.65c626p-12f, 0x1.3d8b3p-11f,  0x1.3bdf44p-14f,
};

// (1 + 2x) exp(x^2) erfc(x) = 1 + P((x - 2.5) / (x + 2.5)); error 2^-54.4.
constexpr double kErfcF64[] = {
    0x1.0f31bdb259cbp-2,    -0x1.f52c5d7e22302p-4,  -0x1.959ac16f857b7p-4,  0x1.42d379989b5adp-3,
    -0x1.a5c0c8a4015d8p-4,  0x1.0c6092a5a591dp-5,   0x1.e894893c535b3p-11,  -0x1.1f2f13284b758p-8,
    0x1.01e11ec2c6c74p-11,  0x1.4b6a4ac8a252fp-11,  -0x1.731c639b99ef1p-14, -0x1.dc25ad219de3cp-14,
    0x1.a4ac431e2a0f7p-18,  0x1.7cd5cb36102a5p-16,  0x1.5d1143ff36cd4p-19,  -0x1.1b0f28002134cp-18,
    -0x1.a4ce23c0d25fp-20,  0x1.1b940744636cdp-21,  0x1.110f16cb882a9p-21,  0x1.fdcd7d8b17766p-26,
    -0x1.bd03d2741c37ep-24, -0x1.33417f7584c92p-25, 0x1.168dbc740f2cfp-27,  0x1.dcaf2d8f18371p-28,
    0x1.2b26410ad8acbp-30,
};

// The first 1280 bits of 2 / pi behind the binary point, 64 a word.
constexpr std::uint64_t kTwoOverPiBits[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

}  // namespace lumus::LUMUS_ISA
