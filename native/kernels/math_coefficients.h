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

// asin(x) = x + x^3 P(x^2), |x| <= 1/2; error 2^-58.3.
constexpr double kAsinF64[] = {
    0x1.5555555555577p-3, 0x1.333333332e09p-4,  0x1.6db6db7219c47p-5, 0x1.f1c71a922f61ep-6,
    0x1.6e8bdf2f0accap-6, 0x1.1c49eabdaa9adp-6, 0x1.ca2016d4aab2cp-7, 0x1.75810e80cfc0fp-7,
    0x1.61563080259c6p-7, 0x1.e46a047e68021p-9, 0x1.64173b6f6a687p-6, -0x1.58aecc5986864p-6,
    0x1.0b7f4bbed57a8p-5,
};

// atan(x) = x + x^3 P(x^2), |x| <= tan(pi / 8); error 2^-57.3.
constexpr double kAtanF64[] = {
    -0x1.555555555553dp-2, 0x1.99999999957bbp-3, -0x1.24924922a9dc1p-3, 0x1.c71c70e4e0e51p-4,
    -0x1.745cf8be3fc24p-4, 0x1.3b111736a2c12p-4, -0x1.10eba480e9c8cp-4, 0x1.df0e40be53299p-5,
    -0x1.9cce5c384fd8fp-5, 0x1.37cb315ac1a02p-5, -0x1.2554b9d275fa5p-6,
};

// sinh(x) = x + x^3 P(x^2), |x| <= 1; error 2^-56.5.
constexpr double kSinhF64[] = {
    0x1.5555555555556p-3,  0x1.11111111110a6p-7,  0x1.a01a01a0289b8p-13, 0x1.71de3a4659b0cp-19,
    0x1.ae64671c48b5bp-26, 0x1.611a55a279d0ep-33, 0x1.b4c781671006ap-41,
};

// asin(x) = x + x^3 P(x^2), |x| <= 1/2, for float32 results; error 2^-31.8.
constexpr double kAsinInF64[] = {
    0x1.55554c58f98f6p-3, 0x1.33387ff6a8c03p-4, 0x1.6cae4940d47f8p-5,
    0x1.0496590660addp-5, 0x1.d8d49bc834521p-7, 0x1.33715184a9a25p-5,
};

// atan(x) = x + x^3 P(x^2), |x| <= tan(pi / 8), for float32 results; error 2^-30.5.
constexpr double kAtanInF64[] = {
    -0x1.5555492674a9dp-2, 0x1.99919547bc1acp-3, -0x1.23b5129f1f2f4p-3,
    0x1.b1eb365e9170dp-4,  -0x1.f1e86778d5cfp-5,
};

// sinh(x) = x + x^3 P(x^2), |x| <= 1, for float32 results; error 2^-34.2.
constexpr double kSinhInF64[] = {
    0x1.5555551b34b78p-3,
    0x1.111134fe6017p-7,
    0x1.9ffe91046d139p-13,
    0x1.7a15ea7a8efd7p-19,
};

// erfinv(x) = x P(w - 3.125), w = -log(1 - x^2) <= 6.25; error 2^-55.3.
constexpr double kErfinvNear[] = {
    0x1.a755e7c99ae86p+0,   0x1.ebd80d9b13dfap-3,   -0x1.8b6c33114ead6p-8,  -0x1.84576948356aap-11,
    0x1.879c2a20b529dp-13,  -0x1.d1d1f7ca22342p-17, -0x1.6e8a53cde9c87p-20, 0x1.c6b4f88bee76cp-22,
    -0x1.f36ced46682e4p-26, -0x1.1a9eb0f04f0f7p-28, 0x1.20f5363d3fc99p-30,  -0x1.dc3f1388d341cp-35,
    -0x1.c8a3f8f0601b3p-37, 0x1.7235e005a718ap-39,  -0x1.6bdbe9d0af974p-44, -0x1.686e610441b7bp-45,
    0x1.d6c6f03fe18a7p-48,  -0x1.6fcf232f14529p-55, -0x1.1ca76c5201809p-53, 0x1.1ec21d01a15fep-56,
    0x1.9aa827aa53531p-61,  -0x1.9bbfaf1b24cc8p-62, 0x1.3868b317e346p-66,   0x1.e67f494a6fda8p-69,
    -0x1.6adcf6c1e3f6p-72,
};

// erfinv(x) = x P(sqrt(w) - 3.25), 6.25 <= w <= 16; error 2^-54.5.
constexpr double kErfinvFar[] = {
    0x1.8abcc380d5a48p+1,   0x1.0158a6d641d55p+0,   0x1.5ffcfe5b6cd7bp-8,   -0x1.ebadabba023c5p-9,
    0x1.468eeca942c55p-9,   -0x1.ba9240d89664dp-10, 0x1.f3cc545e5a1b7p-11,  -0x1.7448bcc1d2594p-12,
    0x1.932e8eb8d4982p-16,  0x1.1e6abb0b98222p-14,  -0x1.8cf45f876d69p-15,  0x1.a241e5ec0c551p-17,
    0x1.8999a5f4823c6p-19,  -0x1.0b7a91aa1b4c8p-18, 0x1.8dbba307276fap-20,  -0x1.d961f16d9331fp-26,
    -0x1.07b8eb991f3d8p-22, 0x1.1a75e59450e0fp-23,  -0x1.65aa608cc9192p-26, -0x1.06963278f619ap-26,
    0x1.06b3ed672e5e7p-27,
};

// erfinv(x) = x P(sqrt(w) - 5), 16 <= w <= 36.1; error 2^-54.6.
constexpr double kErfinvFarther[] = {
    0x1.3664ddd1ad7fbp+2,  0x1.02a30d1fba10dp+0,   -0x1.22ea5df1d1a47p-13, -0x1.c2f36aa247487p-13,
    0x1.3ebf4efc3e0e3p-14, -0x1.4a348fc3164p-16,   0x1.2fbcfcd49437bp-18,  -0x1.0a9073b933cd5p-20,
    0x1.ebe38a28879e4p-23, -0x1.22272445262cep-24, 0x1.f28018b093f3ap-26,  -0x1.0612f64ec6acdp-26,
    0x1.0cdc1029386a2p-27, -0x1.dd1d988b1fb9fp-29, 0x1.68db41c0f8ef5p-30,  -0x1.e128dfb91434ep-32,
    0x1.391174176cee2p-34, 0x1.797075d8409dp-35,   -0x1.6ca5c7801dbc7p-36,
};

// erfinv(x) = x P(w - 3.125), for float32 results; error 2^-28.0.
constexpr double kErfinvNearInF64[] = {
    0x1.a755e7dcda4ecp+0,   0x1.ebd80b848b4afp-3,   -0x1.8b6cc9c73bde1p-8,  -0x1.8452a94ad4239p-11,
    0x1.87b3ae524479ap-13,  -0x1.d29ae0d965343p-17, -0x1.73dca57504dd6p-20, 0x1.cdf24a881c9adp-22,
    -0x1.ae0b22e25b3d8p-26, -0x1.5d728e7567e7ep-28, 0x1.71f9128baaa6p-31,   0x1.3e55c62f4a25ep-36,
};

// erfinv(x) = x P(sqrt(w) - 3.25), for float32 results; error 2^-29.3.
constexpr double kErfinvFarInF64[] = {
    0x1.8abcc377a4b44p+1,   0x1.0158a72805451p+0,   0x1.60038a6bec7ffp-8,  -0x1.ebbe777b0831ep-9,
    0x1.45d07481d11cep-9,   -0x1.b9958c01616fdp-10, 0x1.017f0cf930e2ap-10, -0x1.80bf40373c9aap-12,
    -0x1.374662d7c8cc3p-15, 0x1.6855d550ec6afp-14,
};

// lgamma(x) = (x - 1) (x - 2) P(x - 1.75), 1 <= x <= 2.5; error 2^-54.6.
constexpr double kLgamma[] = {
    0x1.ccf151e09cde8p-2,  -0x1.e965863079468p-4,  0x1.6cb62517118d6p-5,   -0x1.382e176f61aa4p-6,
    0x1.1f9587fa21e79p-7,  -0x1.14f7c58dda697p-8,  0x1.12aa72f512fa1p-9,   -0x1.160562c350aep-10,
    0x1.1daed67d4ad42p-11, -0x1.28f254e10fe0ep-12, 0x1.377641ecd0e4fp-13,  -0x1.491a30a19ad93p-14,
    0x1.5ddbaaa687941p-15, -0x1.75982d45781c6p-16, 0x1.90d4140dd036cp-17,  -0x1.b371cee53b614p-18,
    0x1.d81addd10c8dfp-19, -0x1.da159e75fa125p-20, 0x1.f8f94316e4febp-21,  -0x1.970e126f0e41fp-21,
    0x1.d51957dfdfb34p-22, 0x1.305a281afbb8dp-25,  -0x1.2bddbd0e0f581p-25, -0x1.53bddbfddcd3dp-23,
    0x1.895c1f5a5eb0ep-24,
};

// lgamma(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + P(1 / x^2) / x, x >= 8; error 2^-62.9.
constexpr double kLgammaTail[] = {
    0x1.5555555555516p-4,   -0x1.6c16c169f2c82p-9, 0x1.a019f4bd7c822p-11,
    -0x1.380a5845c847dp-11, 0x1.b5f2bba50d60dp-11, -0x1.a5cb11b95b04p-10,
};

// digamma(x) = (x - root) P(x - 1.5), 1 <= x <= 2; error 2^-54.2.
constexpr double kDigamma[] = {
    0x1.e6f0cbb873616p-1,  -0x1.b1cb63005ee98p-2,  0x1.eca189b8e6f76p-3,  -0x1.2feeeb98a78cdp-3,
    0x1.8512e590384c3p-4,  -0x1.fb44202a257bbp-5,  0x1.4de9aa17d3d8ep-5,  -0x1.b9f8b11b37577p-6,
    0x1.25647161f9de5p-6,  -0x1.863564168a028p-7,  0x1.03c0b0ff63affp-7,  -0x1.5a06a2475ae01p-8,
    0x1.cd1f76911cafep-9,  -0x1.336df9c147061p-9,  0x1.99dd057b912f5p-10, -0x1.0fb11c31f3bc9p-10,
    0x1.69e73570be53p-11,  -0x1.fdadd2bf6a22dp-12, 0x1.55bbbc694b558p-12, -0x1.2f3c97690d7b7p-13,
    0x1.8724c11edcd9ap-14, -0x1.7618865552d8dp-13, 0x1.fc5db0f2673b2p-14,
};

// digamma(x) = log(x) - 1 / (2x) - P(1 / x^2) / x^2, x >= 8; error 2^-60.2.
constexpr double kDigammaTail[] = {
    0x1.555555555529ap-4,  -0x1.1111110ae7b6fp-7, 0x1.04102ded64cb6p-8,
    -0x1.11032f830cd4cp-8, 0x1.eb4637fab55a1p-8,  -0x1.19d57a4228123p-6,
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
